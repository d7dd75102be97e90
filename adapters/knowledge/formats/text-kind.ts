import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { likelyDelimiter, looksLikeTable } from './read-csv.ts';
import { looksLikeCode } from './read-source-code.ts';

/** Headers of a message; two of them, one of the first list, make a text an e-mail. */
const ownHeaders = ['from', 'received', 'return-path', 'delivered-to', 'message-id'];
const headers = [...ownHeaders, 'to', 'subject', 'date', 'mime-version', 'content-type'];

/** The format of a text: by its content, and where texts look alike, as declared. */
export function textKind(text: string, declared: DocumentMediaType): DocumentMediaType {
  if (isMessage(text, declared === 'message/rfc822')) {
    return 'message/rfc822';
  }
  const json = jsonKind(text, declared);
  if (json !== null) {
    return json;
  }
  switch (declared) {
    case 'text/markdown':
    case 'text/html':
    case 'text/x-source-code':
      return declared;
    default:
      return plainKind(text, declared);
  }
}

function plainKind(text: string, declared: DocumentMediaType): DocumentMediaType {
  if (declared === 'text/csv' || declared === 'text/tab-separated-values' || looksLikeTable(text)) {
    return likelyDelimiter(text, declared) === '\t' ? 'text/tab-separated-values' : 'text/csv';
  }
  return looksLikeCode(text) ? 'text/x-source-code' : 'text/plain';
}

/** What is declared as JSON stays so although it is broken: its reader finds the fault. */
function jsonKind(text: string, declared: DocumentMediaType): DocumentMediaType | null {
  const first = /[^\s\uFEFF]/.exec(text.slice(0, 1_024))?.[0];
  if (first !== '{' && first !== '[') {
    return null;
  }
  if (parses(text)) {
    return 'application/json';
  }
  const [line = '', second = ''] = text.slice(0, 1_048_576).split('\n', 2);
  if (second.trim() !== '' && parses(line)) {
    return 'application/x-ndjson';
  }
  return declared === 'application/json' || declared === 'application/x-ndjson' ? declared : null;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ''));
    return true;
  } catch {
    return false;
  }
}

/** Headers alone up to the first blank line; of what is declared to be a message, lines that are none do not count. */
function isMessage(text: string, isDeclared: boolean): boolean {
  const lines = text.slice(0, 65_536).split(/\r?\n/);
  const names = new Set<string>();
  for (const line of lines[0]?.startsWith('From ') === true ? lines.slice(1) : lines) {
    if (line === '') break;
    if (/^[ \t]/.test(line)) continue;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!isDeclared && !/^[!-9;-~]{2,100}$/.test(name)) return false;
    if (headers.includes(name)) names.add(name);
  }
  return names.size >= 2 && (isDeclared || ownHeaders.some((name) => names.has(name)));
}
