import type { FetchMessageObject } from 'imapflow';
import type { Fetched, FetchInput } from '#domain/knowledge/connectors/source.ts';
import { contentWithin } from '../shared/content-within.ts';
import { composeMessage } from './compose-message.ts';
import { decodePart, encodedLimit } from './decode-part.ts';
import { contentVersion, isWhole } from './describe-messages.ts';
import { openMailbox } from './mailbox.ts';
import { partsOf, type Body, type MessageParts, type Part } from './message-parts.ts';
import type { MessageRef } from './message-ref.ts';
import type { Session } from './session.ts';

/** What follows is left out. */
const maxHeaderBytes = 524_288;
const maxTexts = 100;

const tooLarge: Fetched = { kind: 'skipped', code: 'too_large' };
const gone: Fetched = { kind: 'gone' };

export async function fetchMessage(
  session: Session,
  { path, validity, uid, section }: MessageRef,
  { version, maxBytes }: FetchInput,
): Promise<Fetched> {
  if ((await openMailbox(session, path)) !== validity) {
    return gone;
  }
  const message = await lookUp(session, uid);
  const part = message?.parts?.attachments.find((each) => each.section === section) ?? null;
  if (message === null || (section !== null && part === null)) {
    return gone;
  }
  if (version === contentVersion) {
    return { kind: 'unchanged' };
  }
  if (part !== null) {
    return fetchAttachment(session, uid, part, maxBytes);
  }
  return message.parts === null || isWhole(message.parts)
    ? fetchWhole(session, { uid, size: message.size }, maxBytes)
    : fetchText(session, uid, message.parts.body, maxBytes);
}

/** Whether the message has this attachment. */
export async function hasAttachment(session: Session, uid: number, section: string): Promise<boolean> {
  const message = await lookUp(session, uid);
  return message?.parts?.attachments.some((each) => each.section === section) ?? false;
}

interface Found {
  size: number;
  /** Null: the structure is unknown, or beyond what can be read. */
  parts: MessageParts | null;
}

async function lookUp({ client, hasStructures }: Session, uid: number): Promise<Found | null> {
  for (const bodyStructure of hasStructures ? [true, false] : [false]) {
    const query = { uid: true, size: true, bodyStructure };
    const found = await client.fetchOne(String(uid), query, { uid: true });
    if (found && found.uid === uid) {
      const parts = found.bodyStructure === undefined ? null : partsOf(found.bodyStructure);
      return { size: found.size ?? 0, parts };
    }
  }
  return null;
}

async function fetchWhole(
  { client }: Session,
  { uid, size }: { uid: number; size: number },
  maxBytes: number,
): Promise<Fetched> {
  if (size > maxBytes) {
    return tooLarge;
  }
  // One byte more shows a message that is longer than the server says.
  const source = { start: 0, maxLength: maxBytes + 1 };
  const message = await client.fetchOne(String(uid), { uid: true, source }, { uid: true });
  return message && message.source !== undefined ? bounded(message.source, 'message/rfc822', maxBytes) : gone;
}

async function fetchAttachment(
  { client }: Session,
  uid: number,
  { section, encoding, size, mediaType }: Part,
  maxBytes: number,
): Promise<Fetched> {
  const limit = encodedLimit(encoding, maxBytes);
  if (size > limit) {
    return tooLarge;
  }
  const bodyParts = [{ key: section, start: 0, maxLength: limit + 1 }];
  const found = await client.fetchOne(String(uid), { uid: true, bodyParts }, { uid: true });
  const encoded = bytesOf(found, section);
  if (encoded === null) {
    return gone;
  }
  return encoded.byteLength > limit ? tooLarge : bounded(decodePart(encoding, encoded), mediaType, maxBytes);
}

/** The headers and the readable parts alone. */
async function fetchText(
  { client }: Session,
  uid: number,
  body: Body | null,
  maxBytes: number,
): Promise<Fetched> {
  const texts = textsOf(body).slice(0, maxTexts);
  if (texts.reduce((sum, { size }) => sum + size, 0) > maxBytes) {
    return tooLarge;
  }
  const bodyParts = [
    { key: 'HEADER', start: 0, maxLength: maxHeaderBytes },
    ...texts.map(({ section, size }) => ({ key: section, start: 0, maxLength: size + 1 })),
  ];
  const found = await client.fetchOne(String(uid), { uid: true, bodyParts }, { uid: true });
  const headers = found && found.headers;
  if (!headers) {
    return gone;
  }
  const contents = new Map(texts.map(({ section }) => [section, bytesOf(found, section) ?? Buffer.alloc(0)]));
  return bounded(composeMessage(wholeLines(headers), body, contents), 'message/rfc822', maxBytes);
}

const textsOf = (body: Body | null): Part[] =>
  body === null ? [] : 'parts' in body ? body.parts.flatMap((part) => textsOf(part)) : [body];

function wholeLines(headers: Buffer): Buffer {
  return headers.byteLength < maxHeaderBytes ? headers : headers.subarray(0, headers.lastIndexOf(10) + 1);
}

function bytesOf(message: FetchMessageObject | false | undefined, section: string): Buffer | null {
  return (message && message.bodyParts?.get(section)) || null;
}

function bounded(content: Buffer, mediaType: string, maxBytes: number): Fetched {
  return contentWithin(maxBytes, content, { mediaType, version: contentVersion });
}
