import type { MessageStructureObject } from 'imapflow';

/** A part of a message without parts of its own. */
export interface Part {
  /** Its number in the message, such as 2.1. */
  section: string;
  mediaType: string;
  encoding: string;
  /** Bytes as they are encoded in the message. */
  size: number;
  /** The file name that the message gives; empty: none. */
  name: string;
  /** Of the media type. */
  parameters: ReadonlyMap<string, string>;
}

/** Readable parts in the order and nesting of the message. */
export type Body = Part | { mediaType: string; parts: Body[] };

export interface MessageParts {
  /** Null: the message has no text. */
  body: Body | null;
  attachments: Part[];
  /** The body is all that the message has. */
  isBodyAlone: boolean;
}

/** Levels of parts; the client itself reads few more. */
const maxDepth = 16;
/** Parts of a message that are looked at. */
const maxParts = 1_000;
const maxAttachments = 100;

const mediaTypes = /^[a-z\d][\w.+-]{0,63}\/[a-z\d][\w.+-]{0,63}$/;
/** Signatures and what encryption needs: nobody searches for them. */
const signatures = /^application\/(x-)?(pkcs7-signature|pgp-signature|pgp-encrypted|pgp-keys)$/;

/** Divides a message into what is read as its text and what is attached to it; what is beyond the limits is neither. */
export function partsOf(structure: MessageStructureObject): MessageParts {
  const attachments: Part[] = [];
  let [seen, texts, isBodyAlone] = [0, 0, true];
  const readable = (node: MessageStructureObject, around: string, depth: number): Body | null => {
    seen += 1;
    if (seen > maxParts || depth > maxDepth) {
      isBodyAlone = false;
      return null;
    }
    if (node.type.startsWith('multipart/')) {
      const parts: Body[] = [];
      for (const child of (node.childNodes ?? []).slice(0, maxParts)) {
        const part = readable(child, node.type, depth + 1);
        if (part !== null) parts.push(part);
      }
      return parts.length > 1 ? { mediaType: node.type, parts } : (parts[0] ?? null);
    }
    const part = partOf(node);
    if (isText(node, part, around, texts === 0)) {
      texts += 1;
      return part;
    }
    isBodyAlone = false;
    if (isAttachment(node, part, around) && attachments.length < maxAttachments) {
      attachments.push(part);
    }
    return null;
  };
  const body = readable(structure, '', 0);
  return { body, attachments, isBodyAlone };
}

/** Programs give names to texts within a message, too: the first text is what a person reads, whatever it is called. */
function isText({ disposition }: MessageStructureObject, part: Part, around: string, isFirst: boolean) {
  const isReadable = part.mediaType === 'text/plain' || part.mediaType === 'text/html';
  const isBody =
    isFirst || part.name === '' || around === 'multipart/alternative' || around === 'multipart/related';
  return isReadable && disposition !== 'attachment' && isBody;
}

function isAttachment({ disposition, id }: MessageStructureObject, part: Part, around: string): boolean {
  if (
    !mediaTypes.test(part.mediaType) ||
    signatures.test(part.mediaType) ||
    around === 'multipart/encrypted'
  ) {
    return false;
  }
  if (disposition === 'attachment' || part.mediaType === 'message/rfc822') {
    return true;
  }
  if (part.mediaType.startsWith('image/')) {
    return disposition !== 'inline' && id === undefined && part.name !== '';
  }
  return part.name !== '' || around === 'multipart/mixed' || around === '';
}

function partOf(node: MessageStructureObject): Part {
  const { part, type, encoding = '', size = 0, parameters = {}, dispositionParameters = {} } = node;
  const subject = type === 'message/rfc822' ? (node.envelope?.subject ?? '') : '';
  return {
    section: part ?? '1',
    mediaType: type,
    encoding: encoding.trim(),
    size: Number.isSafeInteger(size) && size >= 0 ? size : 0,
    name: dispositionParameters['filename'] ?? parameters['name'] ?? (subject === '' ? '' : `${subject}.eml`),
    parameters: new Map(Object.entries(parameters)),
  };
}
