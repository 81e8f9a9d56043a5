"use strict";
// Runs beside a report in a frame, does what a reader does, and writes down what
// came of it.
const frame = document.querySelector("iframe");
const wait = () => new Promise((done) => setTimeout(done, 50));

const channels = (color) => color.match(/[\d.]+/g).map(Number);
const luminance = (color) => {
  const [r, g, b] = channels(color)
    .slice(0, 3)
    .map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (view, element) => {
  for (let one = element; one; one = one.parentElement) {
    const color = view.getComputedStyle(one).backgroundColor;
    const [, , , alpha = 1] = channels(color);
    if (alpha > 0) return color;
  }
  return "rgb(255, 255, 255)";
};
// Text below the contrast that WCAG 2 asks for at level AA.
const faint = (view, root) => {
  const found = new Set();
  for (const one of root.querySelectorAll("body *")) {
    const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!hasText || ["SCRIPT", "STYLE"].includes(one.tagName)) continue;
    const [a, b] = [view.getComputedStyle(one).color, ground(view, one)].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.add(`${one.tagName}.${one.className} ${contrast.toFixed(2)}`);
  }
  return [...found];
};

const tryOut = async () => {
  const view = frame.contentWindow;
  const page = frame.contentDocument;
  const result = { dark: view.matchMedia("(prefers-color-scheme: dark)").matches };

  const sideways = async () => {
    const found = {};
    for (const width of [320, 390, 768, 1280, 1440]) {
      frame.style.width = `${width}px`;
      await wait();
      found[width] = page.documentElement.scrollWidth - page.documentElement.clientWidth;
    }
    return found;
  };
  result.sideways = await sideways();
  result.styled = view.getComputedStyle(page.querySelector(".scroll")).overflowX;
  result.faint = faint(view, page);
  // Everything in a table or picture lies within its section.
  result.beyond = [...page.querySelectorAll("section table, section svg")]
    .filter((one) => !one.closest(".scroll"))
    .filter((one) => {
      const [own, room] = [one, one.closest("section")].map((it) => it.getBoundingClientRect());
      return own.right > room.right + 0.5;
    })
    .map((one) => `${one.tagName}.${one.getAttribute("class")}`);
  result.pictures = {};
  for (const kind of ["days", "hatch"]) {
    const drawn = [...page.querySelectorAll(`svg.${kind}, path.${kind}`)];
    const isSeen = ({ width, height }) => width > 20 && height > 20;
    const boxes = drawn.filter((one) => one.tagName === "svg");
    result.pictures[kind] = {
      all: drawn.length,
      flat: boxes.filter((one) => !isSeen(one.getBoundingClientRect())).length,
      unpainted: drawn
        .filter((one) => one.tagName === "path")
        .filter((one) => view.getComputedStyle(one).stroke === "none").length,
    };
  }

  const injected = page.createElement("script");
  injected.textContent = "window.injected = true";
  page.body.append(injected);
  result.injected = Boolean(view.injected);

  return result;
};

addEventListener("load", async () => {
  const written = document.getElementById("result");
  try {
    written.textContent = JSON.stringify(await tryOut());
  } catch (error) {
    written.textContent = JSON.stringify({ error: `${error.message} ${error.stack}` });
  }
});
