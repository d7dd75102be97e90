import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const sectionBytes = 1_500;
const prose = ['README.md', 'docs/durability.md', 'docs/operating.md', 'docs/api.md'];

/** The words of our own documents, so that a text has as many tokens as English has. */
const vocabulary = prose
  .map((name) => readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8'))
  .flatMap((text) => text.match(/(?<![\w`./-])[a-z]{2,12}(?![\w`./-])/gu) ?? []);

/** Markdown of so many bytes in sections. No two have a passage in common, which would be embedded only once. */
export function writeDocument(random: () => number, bytes = 10_000): string {
  const word = () => vocabulary[Math.floor(random() * vocabulary.length)] ?? 'tide';
  const words = (count: number) => capital(Array.from({ length: count }, word).join(' '));
  let text = `# ${words(4)}\n`;
  let section = sectionBytes;
  while (text.length < bytes) {
    if (section >= sectionBytes) {
      text += `\n\n## ${words(3)}\n\n`;
      section = 0;
    }
    const sentence = `${words(8 + Math.floor(random() * 12))}. `;
    text += sentence;
    section += sentence.length;
  }
  return `${text.slice(0, bytes - 1)}.`;
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Equal numbers in every run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
