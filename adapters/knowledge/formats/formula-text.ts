import type { XmlAttributes } from './xml-reader.ts';

/** What stands before the parts of a formula, as it is read from left to right. */
const signs: ReadonlyMap<string, string> = new Map([
  ['num', ''],
  ['den', '/'],
  ['sup', '^'],
  ['sub', '_'],
  ['rad', '√'],
  ['d', ''],
]);
/** Their parts are in brackets, however long. */
const bracketed = new Set(['d', 'rad']);

/** Writes the form of a formula of Office into its text, which would run its parts together. */
export class FormulaText {
  readonly #starts: number[] = [];

  open(name: string, attributes: () => XmlAttributes, text: string[]): void {
    if (name === 'oMath') text.push(' ');
    // The sign of a sum or a product; without one it is an integral.
    if (name === 'chr' && /^[∏∐∑∫-∳⋀-⋃]$/u.test(attributes().get('val') ?? ''))
      text.push(attributes().get('val') ?? '');
    if (signs.has(name)) this.#starts.push(text.length);
  }

  close(name: string, text: string[]): void {
    if (name === 'oMath') text.push(' ');
    const sign = signs.get(name);
    const start = sign === undefined ? undefined : this.#starts.pop();
    if (sign === undefined || start === undefined || text.length <= start) return;
    const isSingle = text.length === start + 1 && (text[start]?.length ?? 0) === 1 && !bracketed.has(name);
    text[start] = `${sign}${isSingle ? '' : '('}${text[start]}`;
    if (!isSingle) text.push(')');
  }
}
