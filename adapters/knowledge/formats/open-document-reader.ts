import { CommentLines } from './comment-lines.ts';
import type { Paragraph } from './headed-text.ts';
import { OpenDocumentTable, type OpenDocumentRow } from './open-document-table.ts';
import type { Row } from './table-rows.ts';
import type { XmlAttributes, XmlHandler } from './xml-reader.ts';

const skipped = new Set([
  'tracked-changes',
  'forms',
  'desc',
  'note-citation',
  'dde-connections',
  'automatic-styles',
]);
const lines = new Set(['p', 'h']);

type Kind = 'text' | 'spreadsheet' | 'presentation';

interface Slide {
  title: string | null;
  lines: string[];
}

interface Sheet {
  name: string;
  rows: Row[];
  comments: string[];
  /** Text boxes and charts beside the cells. */
  drawings: string[];
}

/** Collects the paragraphs, slides and sheets of a `content.xml`. */
export class OpenDocumentReader implements XmlHandler {
  readonly paragraphs: Paragraph[] = [];
  readonly slides: Slide[] = [];
  readonly sheets: Sheet[] = [];
  /** Of a text. */
  readonly comments: string[] = [];
  /** Texts of embedded objects, by their name. */
  readonly #objects: ReadonlyMap<string, string>;
  #kind: Kind | null;
  #comment: CommentLines | null = null;
  #skipping = 0;
  /** Paragraphs that are open, and notes within them. */
  #open = 0;
  #text: string[] = [];
  #level = 0;
  #inTitle = false;
  #slide: Slide | null = null;
  readonly #table = new OpenDocumentTable();
  #sheet: Sheet | null = null;

  /** @param kind of content that does not say it, such as that of a chart */
  constructor(objects: ReadonlyMap<string, string>, kind: Kind | null = null) {
    this.#objects = objects;
    this.#kind = kind;
  }

  open(name: string, attributes: () => XmlAttributes): void {
    if (this.#comment !== null) {
      this.#comment.open(name);
      return;
    }
    if (skipped.has(name)) this.#skipping += 1;
    if (this.#skipping > 0) return;
    if (name === 'text' || name === 'spreadsheet' || name === 'presentation') this.#kind ??= name;
    if (this.#kind === null) return;
    if (name === 'table' && this.#kind === 'spreadsheet' && !this.#table.isOpen) this.#openSheet(attributes);
    this.#table.open(name, attributes);
    if (lines.has(name)) {
      if (this.#open === 0) this.#level = name === 'h' ? Number(attributes().get('outline-level') ?? 1) : 0;
      else this.#text.push(' ');
      this.#open += 1;
    } else if (name === 's' && this.#open > 0) {
      this.#text.push(' '.repeat(Math.min(Number(attributes().get('c') ?? 1) || 1, 100)));
    } else if (name === 'tab') this.#text.push('\t');
    else if (name === 'line-break') this.#text.push('\n');
    else if (name === 'page' && this.#kind === 'presentation') this.#openSlide();
    else if (name === 'frame') this.#inTitle = attributes().get('class') === 'title';
    else if (name === 'annotation') this.#comment = new CommentLines();
    else if (name === 'object') this.#addObject(attributes().get('href') ?? '');
  }

  close(name: string): void {
    if (this.#comment !== null) {
      if (this.#comment.close(name)) this.#endComment(this.#comment);
      return;
    }
    if (skipped.has(name)) this.#skipping -= 1;
    else if (this.#skipping > 0 || this.#kind === null) return;
    else if (lines.has(name)) {
      this.#open -= 1;
      if (this.#open === 0) this.#endLine();
      else this.#text.push(' ');
    } else if (name === 'page') this.#slide = null;
    else if (name === 'frame') this.#inTitle = false;
    const row = this.#table.close(name);
    if (row !== null) this.#addRow(row);
    if (!this.#table.isOpen) this.#sheet = null;
  }

  text(text: string): void {
    // White space is one blank, as in HTML; elements stand for further ones.
    if (this.#comment !== null) this.#comment.text(text);
    else if (this.#open > 0 && this.#skipping === 0) this.#text.push(text.replace(/[\t\n\r ]+/g, ' '));
  }

  #endLine(): void {
    const text = this.#text.join('');
    this.#text = [];
    if (this.#table.addLine(text)) return;
    if (this.#slide !== null) this.#addToSlide(this.#slide, text);
    else if (this.#sheet !== null) this.#sheet.drawings.push(text);
    else if (this.#kind === 'text') this.paragraphs.push({ text, level: this.#level });
  }

  #endComment({ lines: comment }: CommentLines): void {
    this.#comment = null;
    if (this.#slide !== null) for (const line of comment) this.#addToSlide(this.#slide, line);
    else (this.#sheet?.comments ?? this.comments).push(...comment);
  }

  #addObject(href: string): void {
    const text = this.#objects.get(href.replace(/^\.\//, '')) ?? '';
    if (text === '') return;
    if (this.#sheet !== null) this.#sheet.drawings.push(text);
    else if (this.#open > 0) this.#text.push(text.includes('\n') ? `\n${text}\n` : text);
    else if (this.#slide !== null) this.#addToSlide(this.#slide, text);
    else this.paragraphs.push({ text, level: 0 });
  }

  #openSlide(): void {
    this.#slide = { title: null, lines: [] };
    this.slides.push(this.#slide);
  }

  #addToSlide(slide: Slide, text: string): void {
    if (text.trim() === '') return;
    if (this.#inTitle) slide.title = slide.title === null ? text : `${slide.title} ${text}`;
    slide.lines.push(text);
  }

  #openSheet(attributes: () => XmlAttributes): void {
    const name = attributes().get('name') ?? `Sheet${this.sheets.length + 1}`;
    this.#sheet = { name, rows: [], comments: [], drawings: [] };
    this.sheets.push(this.#sheet);
  }

  #addRow(row: OpenDocumentRow): void {
    if (this.#sheet !== null) {
      this.#sheet.rows.push({ number: row.number, cells: row.cells });
      return;
    }
    const text = row.cells.map((cell) => cell ?? '').join('\t');
    if (this.#slide !== null) {
      this.#addToSlide(this.#slide, text);
      return;
    }
    const paragraph = { text, level: 0 };
    this.paragraphs.push(paragraph);
    this.#table.addParagraph(row, paragraph);
  }
}
