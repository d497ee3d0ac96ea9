"""Lower bounds on eta: conflict graph, cuts, relaxation, branch and bound, certificates."""
