// A canvas whose coordinates are those of what is drawn.

export class Picture {
  constructor(canvas, [left, right], [low, high]) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    Object.assign(this, { left, right, low, high });
  }

  // Clears it, at the resolution of the screen.
  begin() {
    const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = this.canvas;
    const [width, height] = [clientWidth, clientHeight].map((size) => Math.round(size * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, clientWidth, clientHeight);
    Object.assign(this, { width: clientWidth, height: clientHeight });
  }

  x(value) { return ((value - this.left) / (this.right - this.left)) * this.width; }
  y(value) { return (1 - (value - this.low) / (this.high - this.low)) * this.height; }

  // Where in these coordinates the pointer is.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width, down = (event.clientY - box.top) / box.height;
    return [this.left + across * (this.right - this.left), this.high - down * (this.high - this.low)];
  }

  dots(points, colour, radius) {
    this.context.fillStyle = colour;
    for (const [x, y] of points) {
      this.context.beginPath();
      this.context.arc(this.x(x), this.y(y), radius, 0, 2 * Math.PI);
      this.context.fill();
    }
  }

  line(points, colour, width, dash = []) {
    const { context } = this;
    Object.assign(context, { strokeStyle: colour, lineWidth: width, lineJoin: "round" });
    context.setLineDash(dash);
    context.beginPath();
    points.forEach(([x, y], i) => (i ? context.lineTo(this.x(x), this.y(y)) : context.moveTo(this.x(x), this.y(y))));
    context.stroke();
    context.setLineDash([]);
  }
}

// A colour of the style sheet.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
