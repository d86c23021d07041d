// Sliders for base rate, costs, a threshold and a recall, each with a field for exact numbers.

const same = (value) => value;

// A slider and a number field that show the same value; the slider's scale is `read` of it. What the
// field refuses stays in it, with the reason beside it, until it is corrected; the last value that was
// taken holds meanwhile.
class Control {
  constructor(id, { read = same, write = same, digits = 3, changed }) {
    Object.assign(this, { read, write, digits, id });
    this.slider = document.getElementById(id);
    this.field = document.getElementById(`${id}-value`);
    this.refusal = document.getElementById(`${id}-refused`);
    this.slider.addEventListener("input", () => {
      this.set(Number(read(Number(this.slider.value)).toPrecision(digits)));
      changed();
    });
    this.field.addEventListener("input", () => {
      const value = this.field.valueAsNumber;
      const [low, high] = [Number(this.field.min), Number(this.field.max)];
      // Not a number compares with nothing.
      if (!(value >= low && value <= high)) {
        this.#refuse(`Not taken: enter a number from ${low} to ${high}. ${this.value} still holds.`);
        return;
      }
      this.#take(value);
      changed();
    });
    this.set(Number(this.field.value));
  }

  set(value) {
    this.field.value = value;
    this.#take(value);
  }

  // Ends of the slider and of what the field takes, of a control whose scale is its own.
  limit(low, high) {
    for (const each of [this.slider, this.field]) [each.min, each.max] = [low, high];
    this.slider.step = (high - low) / 500;
  }

  disable(disabled) {
    this.slider.disabled = this.field.disabled = disabled;
    if (disabled) this.set(this.value);
  }

  #take(value) {
    this.value = value;
    this.slider.value = this.write(value);
    this.slider.setAttribute("aria-valuetext", format(value));
    for (const each of document.querySelectorAll(`[data-printed="${this.id}"]`)) each.textContent = format(value, this.digits);
    this.#refuse("");
  }

  #refuse(reason) {
    this.refusal.textContent = reason.replaceAll("-", "−");
    this.refusal.hidden = !reason;
    this.field.setAttribute("aria-invalid", String(Boolean(reason)));
  }
}

class Controls {
  constructor(changed) {
    const cost = { read: (z) => 10 ** z, write: Math.log10, changed };
    this.falsePositive = new Control("cost-fp", cost);
    this.falseNegative = new Control("cost-fn", cost);
    this.prior = new Control("prior", { read: expit, write: logit, changed });
    this.threshold = new Control("own", { digits: 4, changed });
    this.recall = new Control("recall", { changed });
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

  // Where the slider of the base rate stands while the fitted one holds.
  showFitted(prior) {
    if (this.own.checked) this.prior.set(Number(Math.min(Math.max(prior, 0.0002), 0.9998).toPrecision(3)));
  }

  // Another topic has scores of its own: the threshold starts where the report's table has it.
  startAt(topic) {
    const [low, high] = [topic.x[0], topic.x[topic.x.length - 1]];
    const { at, wanted } = topic.selection;
    this.threshold.limit(low, high);
    this.threshold.set(Math.min(Math.max((at ?? wanted).threshold[0], low), high));
  }
}
