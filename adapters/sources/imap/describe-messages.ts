import type { FetchMessageObject, FetchQueryObject } from 'imapflow';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { contentSize } from './decode-part.ts';
import { attachmentNames, subjectOf } from './document-names.ts';
import type { MailboxState } from './listing-state.ts';
import { partsOf, type MessageParts } from './message-parts.ts';
import { writeRef } from './message-ref.ts';
import type { Session } from './session.ts';

/** The content behind a reference never changes; another number has everything fetched again. */
export const contentVersion = 'immutable/2';

/** Messages whose structures, of ten thousand parts each, are not too long for one answer. */
const groupMessages = 20;
/** A page ends with the message that exceeds it. */
const pageDocuments = 1_000;

/**
 * What is asked of messages, until each has answered: an answer that nests too deep or is too long for the client is
 * left out by it, and the message is then a document without attachments.
 */
const queries: FetchQueryObject[] = [
  { uid: true, size: true, envelope: true, bodyStructure: true },
  { uid: true, size: true, envelope: true },
  { uid: true, size: true },
];

/**
 * The documents of messages of the open mailbox; deleted ones are left out.
 * @returns the messages that are described: the first ones of those that were asked for
 */
export async function describeMessages(
  { client, hasStructures, beginAnswer }: Session,
  { path, validity }: MailboxState,
  uids: readonly number[],
): Promise<{ documents: ListedDocument[]; uids: number[] }> {
  const described = new Map<number, ListedDocument[]>();
  for (let at = 0; at < uids.length; at += groupMessages) {
    const asked = new Set(uids.slice(at, at + groupMessages));
    for (const query of queries.slice(hasStructures ? 0 : 1)) {
      if (asked.size === 0) break;
      beginAnswer();
      for await (const message of client.fetch([...asked].join(','), query, { uid: true })) {
        // An answer that was not asked for, or comes twice.
        if (asked.delete(message.uid)) {
          described.set(message.uid, documentsOf(message, path, validity));
        }
      }
    }
  }
  const documents: ListedDocument[] = [];
  let taken = 0;
  for (; taken < uids.length && documents.length < pageDocuments; taken += 1) {
    documents.push(...(described.get(uids[taken] ?? 0) ?? []));
  }
  return { documents, uids: uids.slice(0, taken) };
}

/** The message and its attachments. */
function documentsOf(
  { uid, size, envelope, bodyStructure }: FetchMessageObject,
  path: string,
  validity: string,
): ListedDocument[] {
  const parts = bodyStructure === undefined ? null : partsOf(bodyStructure);
  const subject = subjectOf(envelope?.subject, uid);
  const common = { version: contentVersion, url: null };
  const message = {
    ref: writeRef({ path, validity, uid, section: null }),
    name: `${path}/${subject}.eml`,
    byteSize: isWhole(parts) && size !== undefined && Number.isSafeInteger(size) && size >= 0 ? size : null,
    mediaType: 'message/rfc822',
    ...common,
  };
  const attachments = parts?.attachments ?? [];
  const names = attachmentNames(attachments);
  return [
    message,
    ...attachments.map((part, at) => ({
      ref: writeRef({ path, validity, uid, section: part.section }),
      name: `${path}/${subject}/${names[at] ?? ''}`,
      byteSize: contentSize(part.encoding, part.size),
      mediaType: part.mediaType,
      ...common,
    })),
  ];
}

/** Whether the document of the message is the message as it is. */
export const isWhole = (parts: MessageParts | null): boolean => parts === null || parts.isBodyAlone;
