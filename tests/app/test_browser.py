"""The page in a real browser, from the files to the report."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from c2rf.app.session import write_example
from people import read_table

pytest_plugins = ["page_server"]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
PATIENCE = 120  # for what never comes: no test fails because a machine is slow
SCREENSHOTS = os.environ.get("C2RF_SCREENSHOTS")


# Look and click in one step: a page that opens or fills moves what is below, and a click from
# outside would land where the button has been.
CLICK = """
const steps = XPathResult.FIRST_ORDERED_NODE_TYPE;
const found = document.evaluate(arguments[0], document, null, steps, null).singleNodeValue;
if (!found || found.disabled) return false;
found.scrollIntoView({block: "center", behavior: "instant"});
const box = found.getBoundingClientRect();
const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
if (!found.contains(top)) return false;
found.click();
return true;
"""


class Visitor:
    """What people do with a page: wait for words, click, type, drop files."""

    def __init__(self, browser, address: str) -> None:
        self.browser = browser
        for path in browser.downloads.iterdir():
            path.unlink()
        browser.set_window_size(1100, 1400)
        browser.get(address)
        self.sees("1. Files")

    def waits(self, found, complaint, every: float = 0.2):
        """Wait until something is found, and return it."""
        from selenium.common.exceptions import (
            ElementNotInteractableException,
            NoSuchElementException,
            StaleElementReferenceException,
        )
        from selenium.webdriver.support.ui import WebDriverWait

        # A part of the page that is just opening, or drawn anew.
        not_yet = (
            ElementNotInteractableException,
            NoSuchElementException,
            StaleElementReferenceException,
        )
        return WebDriverWait(self.browser, PATIENCE, every, not_yet).until(found, complaint)

    @property
    def text(self) -> str:
        return self.browser.execute_script("return document.body.innerText")

    def sees(self, *words: str) -> None:
        for word in words:
            self.waits(lambda _, word=word: word in self.text, f"{word!r} is not shown", 0.3)

    def misses(self, words: str) -> None:
        self.waits(lambda _: words not in self.text, f"{words!r} is still shown", 0.3)

    def is_done(self, _=None) -> bool:
        """Whether the server has nothing more to send, so that fields stay what they are."""
        app = self.browser.find_element("css selector", "[data-testid=stApp]")
        return app.get_attribute("data-test-script-state") == "notRunning"

    def clicks(self, words: str) -> None:
        is_it = f"normalize-space()={words!r}"
        path = f"//button[{is_it}] | //label[{is_it}] | //summary[contains(., {words!r})]"
        self.waits(
            lambda browser: browser.execute_script(CLICK, path), f"{words!r} cannot be clicked"
        )

    def field(self, label: str):
        """Return the field with a label, once it is there."""
        path = f'//input[contains(@aria-label, "{label}")]'
        self.waits(self.is_done, "the page is never done")
        return self.waits(
            lambda browser: browser.find_element("xpath", path), f"there is no field {label!r}"
        )

    def types(self, label: str, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        def marked(_):
            field = self.field(label)
            field.send_keys(Keys.CONTROL, "a")
            return field

        field = self.waits(marked, f"{label!r} takes no text")
        field.send_keys(Keys.DELETE)
        field.send_keys(text, Keys.ENTER)

    def chooses(self, label: str, option: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.field(label).send_keys(option, Keys.ENTER)

    def drops(self, place: int, *paths: Path) -> None:
        self.waits(self.is_done, "the page is never done")
        field = self.waits(
            lambda browser: browser.find_elements("css selector", "input[type=file]")[place:],
            f"there are fewer than {place + 1} places to drop files on",
        )[0]
        field.send_keys("\n".join(map(str, paths)))
        self.sees(*(path.name for path in paths))

    def gets(self, name: str, file: str) -> Path:
        """Click a button to download, and return the file once it is there."""
        self.clicks(name)
        path = self.browser.downloads / file
        self.waits(lambda _: path.exists(), f"{file} was not downloaded")
        return path

    def presses(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def tabs_to(self, is_there) -> None:
        """Press the tabulator until the focus is where it should be."""
        from selenium.webdriver.common.keys import Keys

        self.waits(self.is_done, "the page is never done")
        for _ in range(80):
            if is_there(self.browser.switch_to.active_element):
                return
            self.presses(Keys.TAB)
        pytest.fail("it cannot be reached by the keyboard")

    def scrolls_to(self, words: str) -> None:
        header = self.browser.find_element("xpath", f"//h2[contains(., {words!r})]")
        self.browser.execute_script("arguments[0].scrollIntoView()", header)

    def keeps_a_picture(self, name: str) -> None:
        if SCREENSHOTS:
            self.browser.save_screenshot(str(Path(SCREENSHOTS) / f"{name}.png"))


def test_the_whole_way_with_the_example(browser, address):
    visitor = Visitor(browser, address)
    visitor.clicks("The example")
    visitor.sees("read as: commas, decimal point, UTF-8", "are left for 'no'")
    visitor.clicks("More: weights")
    visitor.types("Imputations, for intervals (0 for none; 20 is usual)", "5")
    visitor.clicks("Label the rows")
    visitor.sees("5. Result", "label yes", "--imputations 5", "import c2rf")
    visitor.scrolls_to("2. What was understood")
    visitor.keeps_a_picture("understood")
    visitor.scrolls_to("5. Result")
    visitor.keeps_a_picture("result")
    assert browser.find_element("css selector", "iframe").size["height"] >= 900
    labels = read_table(visitor.gets("Download labels (.csv)", "labels.csv"))
    drawn = read_table(visitor.gets("Download imputations (.csv)", "imputations.csv"))
    known = int(visitor.field("Total of yes").get_attribute("value"))
    assert (labels["label"] == "yes").sum() == known
    assert [(drawn[name] == "yes").sum() for name in list(drawn)[1:]] == [known] * 5
    assert "class=" in visitor.gets("Download report (.html)", "report.html").read_text()
    assert visitor.gets("Download model (.skops)", "model.skops").stat().st_size > 0
    browser.set_window_size(420, 900)  # a telephone
    visitor.sees("5. Result")
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= browser.execute_script("return window.innerWidth")
    visitor.scrolls_to("3. Known totals")
    visitor.keeps_a_picture("narrow")


def test_a_wrong_total_is_told_while_it_is_typed(browser, address):
    visitor = Visitor(browser, address)
    visitor.clicks("The example")
    visitor.types("Total of yes", "1000")
    visitor.sees("must be a count from 0 to 510")
    visitor.misses("4. Run")
    visitor.types("Total of yes", "40%")
    visitor.sees("are left for 'no'", "4. Run")


def test_a_wrong_file_and_one_that_is_too_large(browser, address, files):
    picture, large = files / "picture.csv", files / "large.csv"
    picture.write_bytes(b"\x89PNG\r\n" + bytes(range(256)))
    large.write_text("a,b\n" + "1,2\n" * 400_000)
    visitor = Visitor(browser, address)
    visitor.drops(0, picture)
    visitor.sees("picture.csv is not text: it holds zero bytes")
    assert "/tmp" not in visitor.text
    visitor.drops(1, large)
    visitor.sees("File must be 1.0MB or smaller")


def test_hostile_names_and_cells_all_the_way(browser, address, files):
    evil = "<script>document.title='got you'</script>"
    cell = "<img src=x onerror=alert(1)>"
    rows = "\n".join(f"{k % 7},{cell[k % 2 :]},{(evil, 'b')[k % 2]}" for k in range(60))
    hostile = files / f"{cell[:6]}.csv"
    hostile.write_text(f"{evil},cell,kind\n{rows}\n1,x,\n2,y,\n")
    visitor = Visitor(browser, address)
    visitor.drops(0, hostile)
    visitor.sees("62 rows, 3 columns")
    visitor.chooses("Column with the class", "kind")
    visitor.sees("Rows to label: 2.")
    visitor.types("Total of b", "1")
    visitor.clicks("Label the rows")
    visitor.sees("5. Result", "import c2rf")
    browser.switch_to.frame(browser.find_element("css selector", "iframe"))
    assert "got you" in browser.page_source  # as text
    assert not browser.find_elements("css selector", "img[src=x]")
    scripts = browser.find_elements("css selector", "script")
    assert not any("got you" in each.get_attribute("innerHTML") for each in scripts)
    browser.switch_to.default_content()
    assert browser.title != "got you"
    assert not browser.find_elements("css selector", "img[src=x]")


def german_files(files: Path) -> tuple[Path, Path]:
    """Write the example with three classes as a German program would."""
    paths = write_example(files)[:2]
    for path in paths:
        lines = path.read_text().splitlines()
        text = "\n".join(line.replace(",", ";").replace(".", ",") for line in lines)
        path.write_bytes(text.replace(";yes", ";völlzeit", 9).encode("cp1252"))
    return paths


def test_german_files_three_classes_and_groups(browser, address, files):
    labeled, unlabeled = german_files(files)
    regions, persons = files / "regionen.csv", files / "alle.csv"
    regions.write_text("region;yes;völlzeit;Summe\nnorth;80;20;100\nSumme;80;20;100\n")
    persons.write_text("class,total\nvöllzeit,50..60\nyes,40%\n")
    visitor = Visitor(browser, address)
    visitor.drops(0, labeled)
    visitor.drops(1, unlabeled)
    visitor.sees("read as: semicolons, decimal comma, Windows-1252", "Total of völlzeit")
    visitor.types("Total of yes", "100")
    visitor.sees("it may leave out one class")
    visitor.types("Total of yes", "")
    visitor.sees("Type the known total")
    visitor.drops(2, regions, persons)
    visitor.sees("by region", "checked and left out", "The totals fit together")
    visitor.clicks("Label the rows")
    visitor.sees("5. Result", "label völlzeit", "--totals-file regionen.csv --totals-file alle.csv")
    labels = read_table(visitor.gets("Download labels (.csv)", "labels.csv"))
    north = labels[labels["region"] == "north"]["label"]
    assert ((north == "yes").sum(), (north == "völlzeit").sum()) == (80, 20)
    assert 50 <= (labels["label"] == "völlzeit").sum() <= 60


def test_a_stopped_run(browser, address):
    visitor = Visitor(browser, address)
    visitor.clicks("The example")
    visitor.clicks("More: weights")
    visitor.types("Imputations, for intervals (0 for none; 20 is usual)", "1000")
    visitor.clicks("Label the rows")
    visitor.sees("s so far")
    visitor.clicks("Stop")
    visitor.sees("stopped; nothing was written")
    assert "5. Result" not in visitor.text


def test_by_keyboard_alone(browser, address):
    from selenium.webdriver.common.keys import Keys

    visitor = Visitor(browser, address)
    visitor.tabs_to(lambda focused: focused.get_attribute("type") == "radio")
    visitor.presses(Keys.ARROW_RIGHT)
    visitor.sees("2. What was understood", "4. Run")
    assert "can be downloaded" not in visitor.text  # Streamlit shows what a module says of a name
    visitor.tabs_to(lambda focused: focused.get_attribute("aria-label") == "Total of no")
    visitor.presses("9999", Keys.ENTER)
    visitor.sees("must be a count from 0 to 510")
    visitor.presses(*[Keys.BACKSPACE] * 4, Keys.ENTER)
    visitor.sees("are left for 'no'")
    visitor.tabs_to(lambda focused: focused.text == "Label the rows")
    visitor.presses(Keys.ENTER)
    visitor.sees("5. Result")


def test_the_folder_is_offered_and_never_left(browser, address):
    visitor = Visitor(browser, address)
    visitor.clicks("Choose from the folder")
    visitor.chooses("Rows whose class is known", "inner/example-labeled.csv")
    visitor.sees("example-labeled.csv: 90 rows")
    visitor.field("Rows to label").click()
    visitor.sees("inner/example-unlabeled.csv")
    assert "secret" not in visitor.text
    assert "link" not in visitor.text


def test_visitors_do_not_see_each_others_data(browser, address, files):
    mine = files / "mine.csv"
    mine.write_text("secret_column,kind\n1,a\n2,b\n")
    visitor = Visitor(browser, address)
    visitor.drops(0, mine)
    visitor.sees("mine.csv: 2 rows, 2 columns")
    browser.switch_to.new_window("tab")
    other = Visitor(browser, address)
    assert "mine.csv" not in other.text
    browser.close()
    browser.switch_to.window(browser.window_handles[0])


def test_other_computers_are_not_answered(address):
    here = socket.gethostbyname(socket.gethostname())
    if here.startswith("127."):
        pytest.skip("this computer has no address but its own")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((here, urlsplit(address).port), timeout=5)
