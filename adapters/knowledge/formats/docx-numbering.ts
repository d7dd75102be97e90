import { readXml } from './xml-reader.ts';

interface Level {
  start: number;
  format: string;
  /** `%1.%2` stands for the numbers of the outermost and the next level. */
  text: string;
  /** Paragraphs of this style are of this level. */
  style: string | null;
}

interface List {
  abstract: string;
  /** Where it begins once more, by level. */
  restarts: ReadonlyMap<number, number>;
}

/** Levels of a list. */
const maxLevels = 9;

/** The numbers that Word shows before paragraphs, counted in the order of the document. Bullets are left out. */
export class DocxNumbering {
  readonly #levels = new Map<string, Map<number, Level>>();
  readonly #lists = new Map<string, List>();
  readonly #counters = new Map<string, number[]>();
  readonly #begun = new Set<string>();

  constructor(numbering: string) {
    let [abstract, list, index]: [string, string, number] = ['', '', 0];
    let level: Level | null = null;
    readXml(numbering, {
      open: (name, attributes) => {
        const value = () => attributes().get('val') ?? '';
        if (name === 'abstractNum') abstract = attributes().get('abstractNumId') ?? '';
        else if (name === 'num') list = attributes().get('numId') ?? '';
        else if (name === 'abstractNumId') this.#lists.set(list, { abstract: value(), restarts: new Map() });
        else if (name === 'lvlOverride' || name === 'lvl') index = Number(attributes().get('ilvl') ?? 0);
        if (name === 'lvl' && list === '') {
          level = { start: 1, format: 'decimal', text: '', style: null };
          const levels = this.#levels.get(abstract) ?? new Map<number, Level>();
          this.#levels.set(abstract, levels.set(index, level));
        } else if (name === 'startOverride') {
          const { abstract: of = '', restarts = new Map<number, number>() } = this.#lists.get(list) ?? {};
          this.#lists.set(list, { abstract: of, restarts: new Map([...restarts, [index, Number(value())]]) });
        } else if (level !== null) {
          if (name === 'start') level.start = Number(value());
          else if (name === 'numFmt') level.format = value();
          else if (name === 'lvlText') level.text = value();
          else if (name === 'pStyle') level.style = value();
        }
      },
      close: (name) => {
        if (name === 'lvl') level = null;
        if (name === 'num') list = '';
      },
      text: () => {},
    });
  }

  /** The level that a list has for paragraphs of a style; 0 where it names none. */
  levelOf(list: string, style: string): number {
    const levels = this.#levels.get(this.#lists.get(list)?.abstract ?? '') ?? [];
    return [...levels].find(([, level]) => level.style === style)?.[0] ?? 0;
  }

  /** The number of the next paragraph of this list and level, such as `4.2` or `(a)`; '' for a bullet. */
  next(list: string, index: number): string {
    const { abstract, restarts } = this.#lists.get(list) ?? {};
    const levels = this.#levels.get(abstract ?? '');
    const level = levels?.get(index);
    if (abstract === undefined || restarts === undefined || levels === undefined || level === undefined)
      return '';
    const startOf = (at: number) => levels.get(at)?.start ?? 1;
    const counters = this.#counters.get(abstract) ?? [];
    const restart = this.#begun.has(`${list}/${index}`) ? undefined : restarts.get(index);
    this.#begun.add(`${list}/${index}`);
    counters[index] = restart ?? (counters[index] === undefined ? startOf(index) : counters[index] + 1);
    for (let outer = 0; outer < index; outer += 1) counters[outer] ??= startOf(outer);
    counters.length = Math.min(index + 1, maxLevels);
    this.#counters.set(abstract, counters);
    if (level.format === 'bullet' || level.format === 'none') return '';
    return level.text.replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1;
      return formatted(counters[at] ?? startOf(at), levels.get(at)?.format ?? 'decimal');
    });
  }
}

function formatted(number: number, format: string): string {
  if (format === 'lowerLetter' || format === 'upperLetter') {
    const letter = String.fromCharCode(97 + ((Math.max(number, 1) - 1) % 26));
    const letters = letter.repeat(Math.min(Math.ceil(Math.max(number, 1) / 26), 10));
    return format === 'lowerLetter' ? letters : letters.toUpperCase();
  }
  if (format === 'lowerRoman') return roman(number).toLowerCase();
  if (format === 'upperRoman') return roman(number);
  return format === 'decimalZero' ? String(number).padStart(2, '0') : String(number);
}

const romans = [
  ...([
    [1_000, 'M'],
    [900, 'CM'],
    [500, 'D'],
    [400, 'CD'],
    [100, 'C'],
    [90, 'XC'],
    [50, 'L'],
  ] as const),
  ...([
    [40, 'XL'],
    [10, 'X'],
    [9, 'IX'],
    [5, 'V'],
    [4, 'IV'],
    [1, 'I'],
  ] as const),
] as const;

function roman(number: number): string {
  let [rest, text] = [Math.min(number, 3_999), ''];
  for (const [value, letters] of romans) {
    for (; rest >= value; rest -= value) text += letters;
  }
  return text;
}
