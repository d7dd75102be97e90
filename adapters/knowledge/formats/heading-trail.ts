interface Heading {
  level: number;
  title: string;
}

/** The headings above the current place, outermost first. */
export class HeadingTrail {
  readonly #headings: Heading[] = [];

  enter(level: number, title: string): void {
    while ((this.#headings.at(-1)?.level ?? 0) >= level) {
      this.#headings.pop();
    }
    this.#headings.push({ level, title });
  }

  /** Null above the first heading. */
  get path(): string | null {
    return this.#headings.map(({ title }) => title).join(' › ') || null;
  }

  get anchor(): string | null {
    const title = this.#headings.at(-1)?.title ?? '';
    return title === '' ? null : `heading ${title}`;
  }
}
