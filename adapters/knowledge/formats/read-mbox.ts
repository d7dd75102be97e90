import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { TextBuilder } from './text-builder.ts';

/** Messages of one mailbox. */
const maxMessages = 10_000;
/** Bytes of the line that begins a message. */
const maxLine = 300;
/** An address and a date, as mailboxes write them: the text of a message has lines that begin with this word, too. */
const [time, year] = [/\d:\d\d/, /\b\d{4}\b/];
const quotedFrom = /^>(?=>*From )/gm;

/** Where the messages of a mailbox begin; one place, or none, for another text. In time that grows with its length. */
export function messageStarts(mailbox: string): number[] {
  const starts: number[] = [];
  for (let at = 0; at !== -1; at = nextFrom(mailbox, at + 1)) {
    const line = /^[^\r\n]*/.exec(mailbox.slice(at, at + maxLine))?.[0] ?? '';
    if (/^From \S/.test(line) && time.test(line) && year.test(line)) starts.push(at);
    else if (at === 0) return [];
    if (starts.length > maxMessages) throw new ExtractionFailure('too_large');
  }
  return starts;
}

/** The next line that begins with `From ` and stands after a blank line. */
function nextFrom(mailbox: string, from: number): number {
  for (let at = mailbox.indexOf('\nFrom ', from); at !== -1; at = mailbox.indexOf('\nFrom ', at + 1)) {
    const before = mailbox[at - 1] === '\r' ? at - 2 : at - 1;
    if (mailbox[before] === '\n') return at + 1;
  }
  return -1;
}

/** A message: its text under its subject, its sender and its date. */
export type MessageReader = (bytes: Uint8Array) => Promise<{ text: ExtractedText; title: string }>;

/**
 * The messages of a mailbox, each with a heading and an anchor of its own.
 * @param mailbox its bytes as Latin-1
 * @throws `ExtractionFailure` too_large
 */
export async function readMbox(
  mailbox: string,
  starts: readonly number[],
  read: MessageReader,
): Promise<ExtractedText> {
  const builder = new TextBuilder();
  for (const [index, start] of starts.entries()) {
    const message = mailbox.slice(start, starts[index + 1]).replace(quotedFrom, '');
    const { text, title } = await read(Buffer.from(message, 'latin1'));
    const sections = text.sections.map((section) => ({
      ...section,
      heading: headingOf(title, section.heading),
    }));
    builder.addText({ text: text.text, sections }, `message ${index + 1}`);
  }
  return builder.build();
}

/** The subject is the heading of most sections of a message. */
function headingOf(title: string, heading: string | null): string {
  return heading === null || title.startsWith(heading) ? title : `${title} › ${heading}`;
}
