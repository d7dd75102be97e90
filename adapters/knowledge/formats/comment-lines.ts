/** Collects the paragraphs of one comment of an OpenDocument file, without its author and its date. */
export class CommentLines {
  readonly lines: string[] = [];
  #line: string[] | null = null;

  open(name: string): void {
    if (name === 'p') this.#line = [];
    else if (name === 's' || name === 'tab') this.#line?.push(' ');
  }

  /** Whether the comment has ended. */
  close(name: string): boolean {
    if (name === 'p' && this.#line !== null) {
      this.lines.push(this.#line.join('').trim());
      this.#line = null;
    }
    return name === 'annotation';
  }

  text(text: string): void {
    this.#line?.push(text);
  }
}
