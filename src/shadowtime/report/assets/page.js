// The page around the figure: theme, copy button, values under the pointer in the distributions.
function currentTheme() {
  const styles = (name) => themeColour(name);
  return {
    name: themeName(),
    panel: styles('--panel'), grid: styles('--grid'), line: styles('--line'), text: styles('--text'),
    muted: styles('--muted'), accent: styles('--accent'), shade: styles('--shade'),
    font: getComputedStyle(document.body).fontFamily,
    policies: Array.from({ length: POLICY_COLOURS }, (_, i) => styles(`--p${i}`)),
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

function attachDistributions(tip) {
  document.querySelectorAll('figure.cdf').forEach((figure) => {
    const drawing = figure.querySelector('svg');
    const low = Number(figure.dataset.low), high = Number(figure.dataset.high);
    drawing.addEventListener('pointermove', (event) => {
      const box = drawing.getBoundingClientRect();
      const inside = ((event.clientX - box.left) / box.width) * FRAME.width - FRAME.left;
      const share = inside / (FRAME.width - FRAME.left - FRAME.right);
      if (share < 0 || share > 1) { tip.hide(); return; }
      const value = low * (high / low) ** share;
      const values = [...drawing.querySelectorAll('.line')].map((line) => {
        const shares = line.dataset.values.split(' ').map(Number);
        return [line.getAttribute('class').replace('line ', ''), line.dataset.name,
          percent(shares[Math.round(share * (shares.length - 1))])];
      });
      tip.lines(event, `≤ ${figure.dataset.cdf === 'wait' ? span(value) : number(value)}`, values);
    });
    drawing.addEventListener('pointerleave', () => tip.hide());
  });
}

// A section's link scrolls to it; the address keeps the reader's choices.
function attachContents() {
  const links = [...document.querySelectorAll('.top nav a')];
  const seen = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) seen.set(target.id, isIntersecting);
    const here = links.find((link) => seen.get(link.hash.slice(1)));
    for (const link of links) {
      if (link === here) link.setAttribute('aria-current', 'location');
      else link.removeAttribute('aria-current');
    }
  }, { rootMargin: '-60px 0px -70% 0px' });
  for (const link of links) observer.observe(element(link.hash.slice(1)));
  document.querySelectorAll('.top nav a').forEach((link) => link.addEventListener('click', (event) => {
    if (!location.hash.includes('=')) return;
    event.preventDefault();
    element(link.hash.slice(1)).scrollIntoView();
  }));
}

function attachShare(world) {
  const button = element('share'), words = button.querySelector('span');
  button.addEventListener('click', async () => {
    writeState(world);
    try {
      await navigator.clipboard.writeText(location.href);
      words.textContent = 'Copied';
    } catch {
      words.textContent = 'See the address bar'; // from disk some browsers refuse the clipboard
    }
    button.classList.add('copied'); // on a phone the words are hidden but for this moment
    setTimeout(() => { words.textContent = 'Copy link'; button.classList.remove('copied'); }, 1500);
  });
}
