"use strict";
(() => {
  // Printing shows what is folded.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of unfolded) one.open = false;
  });

  const follow = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", follow);
  follow();

  const table = document.getElementById("list");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const text = (row, column) => row.cells[column].textContent;
  const column = (name) => heads.findIndex((head) => head.textContent === name);
  const [region, kind, cost] = ["Region", "Class", "Per month"].map(column);

  const words = new Intl.Collator("en", { numeric: true });
  const number = (shown) => {
    const digits = shown.replace(/[^0-9.-]/g, "");
    return digits === "" ? null : Number(digits);
  };
  // What is absent comes last in both directions.
  const compare = (left, right, sign) => {
    if (left === null || right === null) return (left === null) - (right === null);
    return sign * (typeof left === "number" ? left - right : words.compare(left, right));
  };
  heads.forEach((head, index) => {
    const isNumber = head.classList.contains("n");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = isNumber ? "descending" : "ascending";
      const second = isNumber ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? second : first;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const keyed = rows.map((row, place) => {
        const shown = text(row, index);
        const key = shown === "—" ? null : isNumber ? number(shown) : shown;
        return { row, place, key };
      });
      keyed.sort((a, b) => compare(a.key, b.key, sign) || a.place - b.place);
      body.append(...keyed.map((one) => one.row));
    });
  });

  const search = document.getElementById("search");
  const choices = [
    [document.getElementById("class"), kind],
    [document.getElementById("region"), region],
  ];
  for (const [choice, index] of choices) {
    const names = [...new Set(rows.map((row) => text(row, index)))];
    for (const name of names.sort(words.compare)) choice.add(new Option(name, name));
  }
  // Whole cents of one currency, so that sums are exact.
  const sign = rows.map((row) => text(row, cost)[0]).find((first) => first !== "—") || "";
  const cents = (row) => {
    const shown = text(row, cost);
    return shown[0] === sign ? Number(shown.replace(/[^0-9]/g, "")) : 0;
  };
  const amount = (sum) =>
    sign + (sum / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  // A word is within a cell or within what else is known of a workload, never across.
  const texts = rows.map((row) =>
    [...row.cells].map((cell) => cell.textContent).concat(row.dataset.also).join(" ").toLowerCase());
  const shown = document.getElementById("shown");
  const filter = () => {
    const wanted = search.value.toLowerCase().split(/\s+/);
    let [count, sum] = [0, 0];
    rows.forEach((row, place) => {
      const fits =
        wanted.every((word) => texts[place].includes(word)) &&
        choices.every(([choice, index]) => !choice.value || choice.value === text(row, index));
      row.hidden = !fits;
      if (fits) {
        count += 1;
        sum += cents(row);
      }
    });
    shown.textContent = `${count} of ${rows.length} workloads, ${amount(sum)} per month`;
  };
  search.addEventListener("input", filter);
  for (const [choice] of choices) choice.addEventListener("change", filter);
  filter();
  document.getElementById("tools").hidden = false;
})();
