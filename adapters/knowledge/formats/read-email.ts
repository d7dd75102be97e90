import PostalMime, { type Address, type Attachment, type Email } from 'postal-mime';
import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { PartReader } from './document-parts.ts';
import { addParagraphs } from './headed-text.ts';
import { htmlParagraphs } from './html-paragraphs.ts';
import { withKnownCharsets } from './mail-charsets.ts';
import { TextBuilder } from './text-builder.ts';

const maxParts = 200;
const maxNesting = 64;
const maxHeaderBytes = 1_048_576;

/** Head, body and attachments, and a title of the subject, the sender and the date. @throws `ExtractionFailure` too_large */
export async function readEmail(
  bytes: Uint8Array,
  attached: PartReader,
): Promise<{ text: ExtractedText; title: string }> {
  const email = await PostalMime.parse(withKnownCharsets(bytes), {
    maxNestingDepth: maxNesting,
    maxHeadersSize: maxHeaderBytes,
    forceRfc822Attachments: true,
  });
  if (email.attachments.length > maxParts) {
    throw new ExtractionFailure('too_large');
  }
  const builder = new TextBuilder();
  const subject = email.subject?.trim() || null;
  builder.add({ heading: subject, page: null, anchor: 'head' }, headOf(email));
  addBody(builder, email, subject);
  for (const [index, attachment] of email.attachments.entries()) {
    const text = await attached(contentOf(attachment), attachment.mimeType);
    const name = attachment.filename?.trim() || `${index + 1}`;
    if (text !== null) builder.addText(text, `attachment ${name}`);
  }
  return { text: builder.build(), title: titleOf(email) };
}

function addBody(builder: TextBuilder, { text, html }: Email, subject: string | null): void {
  if (text !== undefined && text.trim() !== '') {
    builder.add({ heading: subject, page: null, anchor: null }, text.trim());
  } else if (html !== undefined) {
    addParagraphs(builder, htmlParagraphs(html));
  }
}

function titleOf({ subject, from, date }: Email): string {
  const sender = from === undefined ? '' : people([from]);
  const parts = [subject?.trim(), sender, date?.slice(0, 10)].filter(
    (part) => part !== undefined && part !== '',
  );
  return parts.join(' · ') || 'Message';
}

function headOf({ subject, from, to, cc, date, attachments }: Email): string {
  const files = attachments.flatMap(({ filename }) => filename ?? []).join(', ');
  const lines = [
    ['Subject', subject],
    ['From', people(from === undefined ? [] : [from])],
    ['To', people(to ?? [])],
    ['Cc', people(cc ?? [])],
    ['Date', date],
    ['Attachments', files],
  ];
  return lines.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join('\n');
}

function people(addresses: readonly Address[]): string {
  return addresses
    .flatMap((address) => (address.group === undefined ? [address] : address.group))
    .map(({ name, address }) => (name ? `${name} <${address}>` : address))
    .join(', ');
}

function contentOf({ content }: Attachment): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
}
