/** A document to upload, with the only word that no other document contains. */
export interface SourceDocument {
  filename: string;
  mediaType: 'text/markdown' | 'text/plain';
  content: string;
  word: string;
}

const vocabulary = (
  'harbour beacon ledger orchard copper lantern granite ferry meadow violin anchor timber saddle compass barley ' +
  'chimney glacier pepper quarry ribbon sextant thistle umbrella walnut bellows candle drizzle ember furrow gable'
).split(' ');

/** Passages of the small, middle and large documents: up to four batches of a model. */
const sizes = [24, 90, 150, 210];

/** Every document has this paragraph, so that equal texts share a vector. */
const common =
  'This register is kept by the harbour office and is read aloud on the first day of each month.';

/** Documents of several sizes and both kinds of text: the same for the same random numbers. */
export function knowledgeDocuments(random: () => number, count: number): SourceDocument[] {
  return Array.from({ length: count }, (_, index) => {
    const word = `zorvex${String.fromCodePoint(97 + (index % 26))}${index}`;
    const passages = Math.round(sizes[index % sizes.length]! * (0.8 + random() * 0.2));
    const isMarkdown = index % 3 !== 2;
    const blocks = Array.from({ length: passages }, (_unused, at) => {
      const text = at === 1 ? common : paragraph(random, word, at);
      return isMarkdown ? `## Entry ${at}\n\n${text}` : text;
    });
    return {
      filename: `${word}.${isMarkdown ? 'md' : 'txt'}`,
      mediaType: isMarkdown ? 'text/markdown' : 'text/plain',
      content: [isMarkdown ? `# Register of ${word}` : `Register of ${word}.`, ...blocks].join('\n\n'),
      word,
    };
  });
}

/** Two sentences that together nearly fill a passage. */
function paragraph(random: () => number, word: string, at: number): string {
  const words = (count: number) =>
    Array.from({ length: count }, () => vocabulary[Math.floor(random() * vocabulary.length)]).join(' ');
  return `Entry ${at} of ${word} names the ${words(26)}. It is signed for the ${words(22)}.`;
}
