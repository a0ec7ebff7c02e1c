// Shows the figures of the second under the pointer, below each plot.
const run = JSON.parse(document.getElementById("run").textContent);
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg");
  const { left, right, names } = JSON.parse(figure.dataset.axis);
  const cursor = svg.querySelector(".cursor");
  const output = figure.querySelector("output");
  svg.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
    const share = Math.min(1, Math.max(0, (at - left) / (right - left)));
    const first = run.seconds[0].second;
    const last = run.seconds[run.seconds.length - 1].second;
    const second = Math.round(first + share * (last - first));
    const point = run.seconds.find((point) => point.second === second);
    cursor.setAttribute("x1", left + share * (right - left));
    cursor.setAttribute("x2", left + share * (right - left));
    cursor.style.visibility = "visible";
    const read = (name) => name.split(".").reduce((value, part) => value?.[part], point) ?? "-";
    output.textContent = `second ${second}: ` + names.map(([name, label]) => `${label} ${read(name)}`).join(", ");
  });
  svg.addEventListener("pointerleave", () => {
    cursor.style.visibility = "hidden";
    output.textContent = "";
  });
}
