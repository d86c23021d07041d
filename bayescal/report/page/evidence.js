// Figures that come with their series, which are lines, bands or dots.

function evidenceFigure(it, width) {
  const { title, note, x, y, xTicks, xLabel, yLabel } = it;
  const xScale = it.logarithmic ? Math.log10 : undefined;
  const chart = new Chart({ width, x, y, xTicks, xScale, xLabel, yLabel, label: title });
  for (const each of it.at ?? []) chart.vertical(each, "diagonal");
  for (const each of it.series) {
    const [shape, ...kinds] = each.kind.split(" "), kind = kinds.join(" ");
    if (shape === "band") chart.band(each.x, each.lower, each.upper, kind);
    else if (shape === "line") chart.line(each.x, each.y, kind);
    else each.x.forEach((at, k) => chart.dot(at, each.y[k], kind, 2.5));
  }
  const lines = it.series.filter((each) => each.kind.startsWith("line"));
  const shared = lines.filter((each) => each.x.length === lines[lines.length - 1].x.length);
  const columns = [column(xLabel, shared[0].x), ...shared.map(({ name, y: values }) => column(name, values))];
  for (const each of it.series.filter(({ kind }) => kind.startsWith("band"))) {
    columns.push(column(`${each.name}, lower`, each.lower), column(`${each.name}, upper`, each.upper));
  }
  return { title, chart, legend: it.series.map(({ kind, name }) => [kind, name]), note, columns };
}

function drawEvidence() {
  putFigures(byId("evidence-figures"), DATA.evidence.map((each) => (width) => evidenceFigure(each, width)));
}
