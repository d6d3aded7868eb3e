"""The page for readers who cannot see it well, or use no mouse."""

from __future__ import annotations

from itertools import pairwise

import pytest

from report.test_interaction import key, site

CONTRAST = """
const lin = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const lum = ([r, g, b]) => 0.2126 * lin(r) + 0.7152 * lin(g) + 0.0722 * lin(b);
const ground = e => {
  for (let at = e; at; at = at.parentElement) {
    const c = parse(getComputedStyle(at).backgroundColor);
    if (c.length < 4 || c[3] > 0.99) return c;
  }
  return [255, 255, 255];
};
const low = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !e.getClientRects().length) continue;
  if (/SCRIPT|STYLE|OPTION/.test(e.tagName)) continue;
  const style = getComputedStyle(e);
  const svg = e instanceof SVGElement;
  const a = lum(parse(svg ? style.fill : style.color)), b = lum(ground(e));
  const found = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const name = e.className.baseVal ?? e.className;
  if (found < 4.5) low.push([name, e.textContent.slice(0, 30), found]);
}
return low;
"""

UNNAMED = """
const named = e => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')
  || (e.labels && e.labels.length && e.labels[0].textContent.trim())
  || (e.tagName === 'BUTTON' && e.textContent.trim());
return [...document.querySelectorAll('button, input, select, [tabindex="0"]')]
  .filter(e => !named(e)).map(e => e.outerHTML.slice(0, 90));
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_word_of_the_page_has_enough_contrast(opened, browser, dark):
    browser.emulate(width=1280, height=900, dark=dark)
    opened(site(80))
    assert browser.run(CONTRAST) == []


def test_canvases_have_roles_and_names_and_controls_have_labels(opened):
    browser = opened(site(40))
    bare = browser.run(
        "return [...document.querySelectorAll('canvas, svg')].filter(e =>"
        " !e.getAttribute('role') || !e.getAttribute('aria-label')).map(e => e.id || e.className)"
    )
    assert bare == []
    assert browser.run(UNNAMED) == []
    gantt = browser.run(
        "return [...document.querySelectorAll('canvas.rows')].map(c => c.ariaLabel)"
    )
    assert gantt[0] == "Gantt chart of fcfs"
    assert browser.run("return document.documentElement.lang") == "en"


def test_headings_skip_no_level_and_ids_are_unique(opened):
    browser = opened(site(40))
    levels = browser.run(
        "return [...document.querySelectorAll('h1, h2, h3, h4, h5')].filter(h =>"
        " h.getClientRects().length).map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    twice = browser.run(
        "const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
        "return ids.filter((id, i) => ids.indexOf(id) !== i)"
    )
    assert twice == []


def test_the_keyboard_alone_reaches_everything(opened):
    """Tab passes the controls in the order of the page and the figure, and Enter works."""
    browser = opened(site(40))
    browser.run("document.body.focus()")
    seen = []
    for _ in range(200):
        browser.act(key("\ue004"))  # Tab
        seen.append(
            browser.run("const e = document.activeElement; return e.id || e.className || e.tagName")
        )
        if seen[-1] == "rows":
            break
    assert seen[0] == "skip"
    wanted = ["share", "theme", "policy-a", "colour", "job", "filter-user", "rows"]
    assert [name for name in seen if name in wanted] == wanted
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    browser.act(key("]"))
    assert browser.run("return document.getElementById('card').hidden") is False
    browser.act(key("\ue00c"))  # Escape
    assert browser.run("return document.getElementById('card').hidden") is True


def test_regions_have_names_of_their_own(opened):
    """A list of landmarks that reads the same word twice helps nobody (axe: landmark-unique)."""
    browser = opened(site(60))
    names = browser.run(
        "return [...document.querySelectorAll('[role=region]')].map(e => e.ariaLabel)"
    )
    assert names and sorted(set(names)) == sorted(names)
