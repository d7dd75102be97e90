import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ToolMedia } from '#domain/capabilities/tools/tool-server.ts';
import type { SecretRemover } from '../egress/secret-remover.ts';
import { ResultMedia } from './result-media.ts';

/**
 * Content of a result for the model: its texts; structured content where there is no text; other parts by kind, with
 * images and sounds for models that accept them. The tool has done its work by then, so malformed content never
 * invalidates the result.
 */
export function readResult(
  result: Record<string, unknown>,
  remover: SecretRemover,
): { text: string; media: ToolMedia[] } {
  const content = Array.isArray(result['content']) ? result['content'].map(toRecord) : [];
  const media = new ResultMedia(remover);
  const parts = content.map((part) => partText(part, media));
  const structured = result['structuredContent'];
  const hasText = content.some((part) => part['type'] === 'text' && part['text'] !== '');
  const text = cleanText(
    (hasText || structured === undefined ? parts : [...parts, structuredText(structured)]).join('\n'),
  );
  return { text, media: media.taken };
}

/** A server may nest values more deeply than recursion can follow. */
function structuredText(structured: unknown): string {
  try {
    return JSON.stringify(structured);
  } catch {
    return '[structured content, nested too deeply to be shown]';
  }
}

function partText(part: Record<string, unknown>, media: ResultMedia): string {
  switch (part['type']) {
    case 'text':
      return toText(part['text']);
    case 'image':
    case 'audio':
      return mediaText(part['type'], part, media);
    case 'resource_link':
      return `[resource ${toText(part['uri'])}]`;
    case 'resource': {
      const resource = toRecord(part['resource']);
      return typeof resource['text'] === 'string'
        ? resource['text']
        : `[resource ${toText(resource['uri'])}]`;
    }
    default:
      return `[${toText(part['type']) || 'part'}, not shown]`;
  }
}

/** Describes a media part in text, for models that do not accept it. */
function mediaText(kind: string, part: Record<string, unknown>, media: ResultMedia): string {
  const data = toText(part['data']);
  const shown = media.take(data) ? '' : ', not shown';
  return `[${kind} ${toText(part['mimeType'])}, ${data.length} characters of base64${shown}]`;
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
