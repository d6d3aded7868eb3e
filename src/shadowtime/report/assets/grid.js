// The page of a grid: its charts are there already; what is left is the theme and the downloads.
attachTheme(() => {});
attachExports({});
window.shadowtime = { ready: Promise.resolve(true), world: { frames: 0 } };
document.documentElement.dataset.ready = '1';
