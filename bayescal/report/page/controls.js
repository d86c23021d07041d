// Sliders for costs and prior, each with a field for exact numbers.

// A slider and a number field that show the same value; the slider's scale is `read` of it.
class Control {
  constructor(id, { read, write, changed }) {
    this.slider = document.getElementById(id);
    this.field = document.getElementById(`${id}-value`);
    Object.assign(this, { read, write });
    this.value = Number(this.field.value);
    this.slider.addEventListener("input", () => {
      this.value = Number(read(Number(this.slider.value)).toPrecision(3));
      this.field.value = this.value;
      this.#describe();
      changed();
    });
    this.field.addEventListener("input", () => {
      const value = Number(this.field.value);
      const [low, high] = [Number(this.field.min), Number(this.field.max)];
      const legal = this.field.value !== "" && value >= low && value <= high;
      this.field.setAttribute("aria-invalid", String(!legal));
      if (!legal) return;
      this.value = value;
      this.slider.value = write(value);
      this.#describe();
      changed();
    });
    this.set(this.value);
  }

  set(value) {
    this.value = value;
    this.field.value = value;
    this.slider.value = this.write(value);
    this.#describe();
  }

  disable(disabled) {
    this.slider.disabled = this.field.disabled = disabled;
  }

  #describe() {
    this.slider.setAttribute("aria-valuetext", format(this.value));
  }
}

class Controls {
  constructor(changed) {
    const cost = { read: (z) => 10 ** z, write: Math.log10, changed };
    this.falsePositive = new Control("cost-fp", cost);
    this.falseNegative = new Control("cost-fn", cost);
    this.prior = new Control("prior", { read: expit, write: logit, changed });
    this.own = document.getElementById("prior-own");
    this.own.addEventListener("change", () => {
      this.prior.disable(this.own.checked);
      changed();
    });
    this.prior.disable(this.own.checked);
  }

  get costs() {
    return {
      falsePositive: this.falsePositive.value,
      falseNegative: this.falseNegative.value,
      prior: this.own.checked ? null : this.prior.value,
    };
  }

  // Where the slider of the prior stands while the fitted one holds.
  showFitted(prior) {
    if (this.own.checked) this.prior.set(Number(Math.min(Math.max(prior, 0.0002), 0.9998).toPrecision(3)));
  }
}
