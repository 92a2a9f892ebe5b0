// Draws the report's charts with Chart.js from the data in the page: each when it comes near the screen, all before printing,
// and anew when the theme changes. Colours come from the style sheet.
"use strict";

(() => {
  const charts = new Map(JSON.parse(document.getElementById("charts").textContent).map((chart) => [chart.id, chart]));
  const drawn = new Map();
  const MARKERS = ["circle", "rect", "triangle", "rectRot"];
  const DASHES = [[6, 3], [], [2, 2], [], [], [2, 2], [6, 3], []];
  const FONT = getComputedStyle(document.body).fontFamily;

  const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  const figure = (value) => (Math.abs(value) >= 100 ? whole : plain).format(value);

  // How values are written on an axis (short) and in a tooltip (long).
  const UNITS = {
    count: { axis: (v) => short.format(v).replace("K", "k"), tip: figure },
    latency: {
      axis: (v) => (v >= 1e6 ? `${plain.format(v / 1e6)} s` : v >= 1000 ? `${plain.format(v / 1000)} ms` : `${plain.format(v)} µs`),
      tip: (v) => `${figure(v / 1000)} ms`,
    },
    micros: { axis: (v) => short.format(v), tip: (v) => `${figure(v)} µs` },
    ratio: { axis: (v) => plain.format(v), tip: (v) => v.toFixed(2) },
    bytes: { axis: (v) => `${short.format(v / 1e6)} MB`, tip: (v) => `${figure(v / 1e6)} MB` },
  };

  const palette = () => {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(`--${name}`).trim();
  };

  // Lines from the smallest to the largest round.
  const whiskers = {
    id: "whiskers",
    beforeDatasetsDraw(chart) {
      const { ctx, scales } = chart;
      ctx.save();
      ctx.globalAlpha = 0.5;
      ctx.lineWidth = 1;
      chart.data.datasets.forEach((dataset, index) => {
        ctx.strokeStyle = dataset.borderColor;
        chart.getDatasetMeta(index).data.forEach((element, place) => {
          const mark = dataset.marks[place];
          if (!mark || mark.low === mark.high) return;
          const clamp = (value) => Math.min(Math.max(scales.y.getPixelForValue(value), chart.chartArea.top), chart.chartArea.bottom);
          const [from, to] = [clamp(mark.low), clamp(mark.high)];
          ctx.beginPath();
          ctx.moveTo(element.x, from);
          ctx.lineTo(element.x, to);
          for (const end of [from, to]) {
            ctx.moveTo(element.x - 3, end);
            ctx.lineTo(element.x + 3, end);
          }
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  };

  // The line that ratios are compared with.
  const reference = {
    id: "reference",
    beforeDatasetsDraw(chart, _, { at, colour }) {
      if (at === null || at === undefined) return;
      const { ctx, chartArea, scales } = chart;
      const y = scales.y.getPixelForValue(at);
      ctx.save();
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(chartArea.left, y);
      ctx.lineTo(chartArea.right, y);
      ctx.stroke();
      ctx.restore();
    },
  };

  const shared = (colour) => ({
    responsive: true,
    maintainAspectRatio: false,
    animation: false,
    layout: { padding: { top: 4, right: 6 } },
    plugins: {
      legend: { display: false },
      tooltip: {
        backgroundColor: colour("ink"),
        titleColor: colour("page"),
        bodyColor: colour("page"),
        footerColor: colour("page"),
        padding: 8,
        boxPadding: 4,
        usePointStyle: true,
        titleFont: { family: FONT },
        bodyFont: { family: FONT },
      },
    },
  });

  const ticks = (colour) => ({ color: colour("soft"), font: { family: FONT, size: 11 } });
  const rules = (colour) => ({ color: colour("grid"), drawTicks: false });

  const horizontal = (chart, colour) => {
    const names = new Map(chart.x.map((place, index) => [place, chart.x_names[index]]));
    const [first, last] = [chart.x[0], chart.x[chart.x.length - 1]];
    const margin = chart.x_log ? Math.max(Math.pow(last / first, 0.04), 1.15) : 1;
    return {
      type: chart.x_log ? "logarithmic" : "linear",
      min: chart.x_log ? first / margin : first - 0.3,
      max: chart.x_log ? last * margin : last + 0.3,
      afterBuildTicks: (axis) => {
        axis.ticks = chart.x.map((value) => ({ value, major: true }));
      },
      ticks: { ...ticks(colour), autoSkip: true, autoSkipPadding: 4, maxRotation: 0, padding: 4, callback: (value) => names.get(value) },
      grid: rules(colour),
      border: { color: colour("line") },
      title: { display: true, text: chart.axis, color: colour("soft"), font: { family: FONT, size: 11 }, padding: 0 },
    };
  };

  // Powers of ten, with 2 and 5 between them where there is room.
  const logTicks = (axis) => {
    const decades = Math.log10(axis.max / axis.min);
    const steps = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
    const values = [];
    for (let power = Math.floor(Math.log10(axis.min)); power <= Math.ceil(Math.log10(axis.max)); power += 1) {
      for (const step of steps) values.push(step * Math.pow(10, power));
    }
    axis.ticks = values.filter((value) => value >= axis.min && value <= axis.max).map((value) => ({ value, major: true }));
  };

  const vertical = (chart, colour) => {
    const axis = {
      type: chart.y_log ? "logarithmic" : "linear",
      ticks: { ...ticks(colour), autoSkip: true, padding: 4, maxTicksLimit: 7, callback: UNITS[chart.unit].axis },
      grid: rules(colour),
      border: { display: false },
    };
    const values = chart.series.flatMap((line) => line.points).filter(Boolean).map((mark) => mark.y);
    const [low, high] = chart.y_range ?? [Math.min(...values), Math.max(...values)];
    if (chart.y_log) {
      // At least most of a decade, so that small differences look small.
      const stretch = Math.max(1.25, Math.sqrt(6 / (high / low)));
      return { ...axis, min: low / stretch, max: high * stretch, afterBuildTicks: logTicks };
    }
    return { ...axis, beginAtZero: true, suggestedMax: Math.max(high, chart.reference ?? 0) * 1.08 };
  };

  const lines = (chart, colour) => ({
    type: "line",
    data: {
      datasets: chart.series.map((line) => {
        const own = colour(`slot-${line.slot}`);
        const wide = line.points.map((mark) => Boolean(mark && mark.wide));
        return {
          label: line.label,
          marks: line.points,
          data: chart.x.map((x, index) => ({ x, y: line.points[index] ? line.points[index].y : null })),
          borderColor: own,
          borderWidth: line.slot === 3 ? 2.5 : 1.75,
          borderDash: DASHES[line.slot],
          pointStyle: MARKERS[line.slot % MARKERS.length],
          pointRadius: wide.map((is) => (is ? 4.5 : 3.5)),
          pointHoverRadius: 6,
          pointBorderWidth: 1.75,
          pointBorderColor: own,
          pointBackgroundColor: wide.map((is) => (is ? colour("card") : own)),
          order: line.slot === 3 ? 0 : 1,
        };
      }),
    },
    options: {
      ...shared(colour),
      interaction: { mode: "x", intersect: false },
      scales: { x: horizontal(chart, colour), y: vertical(chart, colour) },
      plugins: {
        ...shared(colour).plugins,
        reference: { at: chart.reference, colour: colour("soft") },
        tooltip: {
          ...shared(colour).plugins.tooltip,
          callbacks: {
            title: (items) => (items.length ? `${chart.x_names[items[0].dataIndex]} ${chart.axis}` : ""),
            label: (item) => {
              const mark = item.dataset.marks[item.dataIndex];
              return ` ${item.dataset.label}: ${UNITS[chart.unit].tip(mark.y)}${mark.wide ? " (rounds differ)" : ""}`;
            },
          },
        },
      },
    },
    plugins: [whiskers, reference],
  });

  const bars = (chart, colour) => {
    const heading = (index) => chart.rows[index] && chart.rows[index].slot === null;
    const shade = (segment, row) => (segment.shade === "target" ? colour(`slot-${row.slot ?? 0}`) : colour(segment.shade));
    return {
      type: "bar",
      data: {
        labels: chart.rows.map((row) => (row.wide ? `≈ ${row.label}` : row.label)),
        datasets: chart.segments.map((segment) => ({
          label: segment.label,
          data: segment.values,
          backgroundColor: chart.rows.map((row) => shade(segment, row)),
          barPercentage: 0.86,
          categoryPercentage: 0.92,
          maxBarThickness: 28,
        })),
      },
      options: {
        ...shared(colour),
        indexAxis: "y",
        interaction: { mode: "y", intersect: false },
        scales: {
          x: {
            stacked: true,
            beginAtZero: true,
            ticks: { ...ticks(colour), maxRotation: 0, maxTicksLimit: 6, padding: 4, callback: UNITS[chart.unit].axis },
            grid: rules(colour),
            border: { display: false },
          },
          y: {
            stacked: true,
            ticks: {
              autoSkip: false,
              padding: 4,
              crossAlign: "near",
              color: (tick) => colour(heading(tick.index) ? "soft" : "ink"),
              font: (tick) => ({ family: FONT, size: 11, weight: heading(tick.index) ? "bold" : "normal" }),
            },
            grid: { display: false },
            border: { color: colour("line") },
          },
        },
        plugins: {
          ...shared(colour).plugins,
          tooltip: {
            ...shared(colour).plugins.tooltip,
            filter: (item) => item.raw !== null,
            callbacks: {
              title: (items) => (items.length ? items[0].label : ""),
              label: (item) => ` ${item.dataset.label} ${UNITS[chart.unit].tip(item.raw)}`,
              footer: (items) =>
                items.length > 1 && chart.unit === "micros"
                  ? `together ${UNITS.micros.tip(items.reduce((sum, item) => sum + item.raw, 0))}`
                  : "",
            },
          },
        },
      },
    };
  };

  const draw = (id) => {
    const chart = charts.get(id);
    erase(id);
    const colour = palette();
    const canvas = document.getElementById(id).querySelector("canvas");
    drawn.set(id, new Chart(canvas, chart.kind === "lines" ? lines(chart, colour) : bars(chart, colour)));
  };

  const erase = (id) => {
    if (!drawn.has(id)) return;
    drawn.get(id).destroy();
    drawn.delete(id);
  };

  const redraw = () => [...drawn.keys()].forEach(draw);

  // Canvases cost memory, which phones limit: those far from the screen are given back.
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting && !drawn.has(target.id)) draw(target.id);
        if (!isIntersecting) erase(target.id);
      }
    },
    { rootMargin: "800px 0px" },
  );
  for (const id of charts.keys()) observer.observe(document.getElementById(id));

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Paper is light, whatever the screen is.
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.print = "";
    [...charts.keys()].forEach(draw);
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.print;
    redraw();
  });
})();
