"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

import c2rf

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "c2rf"
author = "The c2rf developers"
copyright = author
version = release = c2rf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "native_math",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples", "gallery/**/*.ipynb", "gallery/**/*.py"]

# Pages are MyST: $...$ and $$...$$ for formulas, ::: for boxes.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# A reader needs no network: formulas are MathML, which browsers render themselves.
html_math_renderer = "native"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections name the types
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "reading_order.reading_order",
    "abort_on_example_error": True,
    "run_stale_examples": True,  # the example may be old and the library new
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "matplotlib_animations": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "c2rf"
html_static_path = ["_static"]
html_css_files = ["c2rf.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "c2rf"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
# These have no pages below them: no empty side bar.
SINGLE_PAGES = [
    "index",
    "start",
    "problem",
    "totals",
    "margins",
    "imputations",
    "assumptions",
    "which",
    "files",
    "app",
    "choosing",
    "scaling",
    "proof",
    "cli",
    "faq",
    "glossary",
    "changelog",
]
html_sidebars = {page: [] for page in SINGLE_PAGES}
html_sidebars["gallery/**"] = []  # code needs the room; "Examples" leads back to all of them
html_sidebars["bench/**"] = []  # so do wide tables
