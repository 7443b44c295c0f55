// Images that go with a message: pasted, dropped or chosen. They are shown small, and can be taken away again.

import { button, el, imageOf } from "./dom.js";

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ type: "image", media_type: file.type, data: String(reader.result).split(",")[1] });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

export class Attachments {
  // `report` is called with what is wrong, in words.
  constructor(field, report) {
    this.images = [];
    this.report = report;
    this.node = el("ul", { class: "attached", "aria-label": "Attached images", hidden: true });
    this.input = el("input", { type: "file", accept: KINDS.join(","), multiple: true, hidden: true });
    this.input.addEventListener("change", () => { this.add(this.input.files); this.input.value = ""; });
    this.button = button("Attach images", () => this.input.click(), { icon: "image", bare: true, class: "quiet round attach" });
    field.addEventListener("paste", (event) => { if (event.clipboardData?.files.length) { event.preventDefault(); this.add(event.clipboardData.files); } });
    field.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
    field.addEventListener("drop", (event) => { if (event.dataTransfer?.files.length) { event.preventDefault(); this.add(event.dataTransfer.files); } });
  }

  async add(files) {
    const chosen = [...files].filter((file) => KINDS.includes(file.type));
    if (chosen.length < files.length) this.report("Only png, jpeg, gif and webp images can be attached.");
    try {
      this.images.push(...await Promise.all(chosen.map(read)));
    } catch (error) {
      this.report(error.message);
    }
    this.draw();
  }

  draw() {
    this.node.hidden = !this.images.length;
    this.node.replaceChildren(...this.images.map((each, at) => el("li", {}, imageOf(each), button(`Remove image ${at + 1}`, () => { this.images.splice(at, 1); this.draw(); }, { icon: "cross", bare: true, class: "remove" }))));
  }

  clear() {
    this.images = [];
    this.draw();
  }
}
