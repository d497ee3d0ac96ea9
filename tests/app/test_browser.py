"""The page in a real browser, from the files to the report."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from c2rf.app.example import write_example

pytest_plugins = ["page_server"]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
PATIENCE = 240
SCREENSHOTS = os.environ.get("C2RF_SCREENSHOTS")


class Visitor:
    """What people do with a page: wait for words, click, type, drop files."""

    def __init__(self, browser, address: str) -> None:
        self.browser = browser
        browser.set_window_size(1100, 1400)
        browser.get(address)
        self.sees("1. Files")

    @property
    def text(self) -> str:
        return self.browser.execute_script("return document.body.innerText")

    def sees(self, *words: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        for word in words:
            WebDriverWait(self.browser, PATIENCE, 0.3).until(
                lambda _, word=word: word in self.text, f"{word!r} is not in:\n{self.text}"
            )

    def clicks(self, words: str) -> None:
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        path = f"//button[normalize-space()={words!r}] | //label[normalize-space()={words!r}]"

        def click(browser) -> bool:
            try:
                browser.find_element("xpath", path).click()
            except WebDriverException:
                return False
            return True

        WebDriverWait(self.browser, PATIENCE, 0.3).until(click)

    def types(self, label: str, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.sees(label)
        field = self.browser.find_element("xpath", f'//input[@aria-label="{label}"]')
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text, Keys.ENTER)

    def chooses(self, label: str, option: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.sees(label)
        field = self.browser.find_element("xpath", f'//input[contains(@aria-label, "{label}")]')
        field.send_keys(option, Keys.ENTER)

    def drops(self, place: int, path: Path) -> None:
        self.sees("Rows whose class is known")
        self.browser.find_elements("css selector", "input[type=file]")[place].send_keys(str(path))
        self.sees(path.name)

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
    visitor.clicks("Label the rows")
    visitor.sees("5. Result", "label yes", "c2rf classify", "import c2rf")
    visitor.scrolls_to("2. What was understood")
    visitor.keeps_a_picture("understood")
    visitor.scrolls_to("5. Result")
    visitor.keeps_a_picture("result")
    assert browser.find_elements("css selector", "iframe")
    for name in ("Labels", "Report", "Model"):
        assert name in visitor.text
    browser.set_window_size(420, 900)  # a telephone
    visitor.sees("5. Result")
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= browser.execute_script("return window.innerWidth")
    visitor.keeps_a_picture("narrow")


def test_a_wrong_total_is_told_while_it_is_typed(browser, address):
    visitor = Visitor(browser, address)
    visitor.clicks("The example")
    visitor.types("Total of yes", "1000")
    visitor.sees("at most")
    assert "4. Run" not in visitor.text
    visitor.types("Total of yes", "40%")
    visitor.sees("are left for 'no'", "4. Run")


def test_a_wrong_file_and_hostile_names(browser, address, files):
    picture = files / "picture.csv"
    picture.write_bytes(b"\x89PNG\r\n" + bytes(range(256)))
    visitor = Visitor(browser, address)
    visitor.drops(0, picture)
    visitor.sees("is not text: it holds zero bytes")
    evil = "<script>document.title='got you'</script>"
    rows = "\n".join(f"{k % 7},<img src=x onerror=alert(1)>,{'ab'[k % 2]}" for k in range(60))
    hostile = files / "hostile.csv"
    hostile.write_text(f"{evil},cell,kind\n{rows}\n1,x,\n2,y,\n")
    visitor = Visitor(browser, address)
    visitor.drops(0, hostile)
    visitor.sees("62 rows, 3 columns")
    visitor.chooses("Column with the class", "kind")
    visitor.sees("2 rows to label")
    assert browser.title != "got you"
    assert not browser.find_elements("css selector", "img[src=x]")


def test_german_files_three_classes_and_a_stopped_run(browser, address, files):
    labeled, unlabeled, _ = write_example(files)
    for path in (labeled, unlabeled):
        lines = path.read_text().splitlines()
        text = "\n".join(line.replace(",", ";").replace(".", ",") for line in lines)
        path.write_bytes(text.replace(";yes", ";vollzeit", 9).encode("cp1252"))
    visitor = Visitor(browser, address)
    visitor.drops(0, labeled)
    visitor.drops(1, unlabeled)
    visitor.sees("read as: semicolons, decimal comma")
    visitor.sees("Total of vollzeit")
    visitor.types("Total of yes", "100")
    visitor.sees("all classes but one need a total")
    visitor.types("Total of vollzeit", "20")
    visitor.sees("are left for 'no'")
    visitor.clicks("Label the rows")
    visitor.clicks("Stop")
    visitor.sees("stopped; nothing was written")


def test_by_keyboard_alone(browser, address):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    visitor = Visitor(browser, address)
    for _ in range(30):
        focused = browser.switch_to.active_element
        if focused.get_attribute("type") == "radio":
            break
        ActionChains(browser).send_keys(Keys.TAB).perform()
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT).perform()
    visitor.sees("2. What was understood", "4. Run")
    for _ in range(80):
        focused = browser.switch_to.active_element
        if focused.tag_name == "button" and focused.text == "Label the rows":
            break
        ActionChains(browser).send_keys(Keys.TAB).perform()
    else:
        pytest.fail("the button cannot be reached by the keyboard")
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    visitor.sees("5. Result")


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
