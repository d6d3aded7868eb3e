// The page around the figure: theme, copy button, values under the pointer in the distributions.
function currentTheme() {
  const styles = (name) => themeColour(name);
  return {
    name: themeName(),
    panel: styles('--panel'), grid: styles('--grid'), line: styles('--line'), text: styles('--text'),
    muted: styles('--muted'), accent: styles('--accent'), shade: styles('--shade'),
    font: getComputedStyle(document.body).fontFamily,
    policies: Array.from({ length: 8 }, (_, i) => styles(`--p${i}`)),
  };
}

function themeName() {
  if (document.documentElement.dataset.printing) return 'light';
  const chosen = document.documentElement.dataset.theme;
  return chosen || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

function attachTheme(changed) {
  const root = document.documentElement;
  element('theme').addEventListener('click', () => {
    root.dataset.theme = themeName() === 'dark' ? 'light' : 'dark';
    changed();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  // paper is white: pictures are drawn again in light colours before they are printed
  addEventListener('beforeprint', () => { root.dataset.printing = '1'; changed(true); });
  addEventListener('afterprint', () => { delete root.dataset.printing; changed(true); });
}

function attachCopy() {
  document.querySelectorAll('[data-copy]').forEach((button) => button.addEventListener('click', async () => {
    const source = element(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source); // from disk some browsers refuse the clipboard
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }));
}

function attachDistributions(summary) {
  const tip = element('tip');
  document.querySelectorAll('figure.cdf').forEach((figure) => {
    const drawing = figure.querySelector('svg');
    const lines = [...drawing.querySelectorAll('.line')].map((line) => line.dataset.shares.split(' ').map(Number));
    const marks = [...drawing.querySelectorAll('.line')].map((line) => Number(/p(\d)/.exec(line.className.baseVal)[1]));
    const low = Number(figure.dataset.low), high = Number(figure.dataset.high);
    const { width } = drawing.viewBox.baseVal;
    drawing.addEventListener('pointermove', (event) => {
      const box = drawing.getBoundingClientRect();
      const share = (((event.clientX - box.left) / box.width) * width - 46) / (width - 60);
      if (share < 0 || share > 1) { tip.hidden = true; return; }
      const value = low * (high / low) ** share;
      const said = figure.dataset.cdf === 'wait' ? span(value) : number(value);
      tip.replaceChildren(node('b', {}, `≤ ${said}`), node('dl', { class: 'values' },
        ...lines.flatMap((shares, i) => [
          node('dt', {}, node('i', { class: `swatch p${marks[i]}` }), summary.policies[i].name),
          node('dd', {}, percent(shares[Math.round(share * (shares.length - 1))]))])));
      tip.hidden = false;
      tip.style.transform = `translate(${Math.min(event.clientX + 16, innerWidth - tip.offsetWidth - 8)}px, ` +
        `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px)`;
    });
    drawing.addEventListener('pointerleave', () => { tip.hidden = true; });
  });
}
