import type { Part } from './message-parts.ts';

const maxLength = 150;
const maxExtension = 16;

/** Endings of documents whose message gives no name. */
const extensions = new Map([
  ['application/pdf', '.pdf'],
  ['text/plain', '.txt'],
  ['text/html', '.html'],
  ['text/csv', '.csv'],
  ['message/rfc822', '.eml'],
]);

/** The subject as a step of a path. */
export function subjectOf(subject: string | undefined, uid: number): string {
  return cleanStep((subject ?? '').slice(0, maxLength)) || `message ${uid}`;
}

/** A name for each attachment of one message, no two of them equal. */
export function attachmentNames(attachments: readonly Part[]): string[] {
  const taken = new Set<string>();
  return attachments.map(({ name, mediaType, section }) => {
    const own = bounded(name) || `attachment ${section}${extensions.get(mediaType) ?? ''}`;
    const [stem, extension] = divided(own);
    let free = own;
    for (let copy = 2; taken.has(free); copy += 1) free = `${stem} (${copy})${extension}`;
    taken.add(free);
    return free;
  });
}

/** The extension says more than the end of the stem. */
function bounded(name: string): string {
  const [stem, extension] = divided(name);
  return cleanStep(`${stem.slice(0, maxLength - extension.length)}${extension}`);
}

function divided(name: string): [stem: string, extension: string] {
  const dot = name.lastIndexOf('.');
  return dot > 0 && name.length - dot <= maxExtension ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
}

const cleanStep = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll('/', '-')
    .trim();
