import { assertNever } from '#domain/foundation/kernel/assert-never.ts';
import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { ChildPool, type ChildPoolLimits } from '#adapters/process/child-pool.ts';
import { ChildLimitExceeded, ChildLost, type ChildTask } from '#adapters/process/child-task.ts';
import { onceMore } from '#adapters/process/once-more.ts';
import {
  ExtractionFailure,
  ExtractorBusy,
  type Chunk,
  type DocumentContent,
  type DocumentExtractor,
  type DocumentSource,
  type ExtractedDocument,
  type Section,
} from '#domain/knowledge/ingestion/document-extractor.ts';
import type { ExtractionMessage } from './extraction-messages.ts';

/** Waiting and extraction together stay below the activity's timeout. */
const defaults: ChildPoolLimits = {
  timeoutMs: 45_000,
  heapMb: 320,
  residentMb: 512,
  waitersPerKey: 2,
  waitMs: 60_000,
};

/** Of a document that is sent with its request; the bytes of a larger one follow in parts. */
const maxInlineBytes = 16_384;

/** Extracts documents of all formats in processes of their own; of HTML the main content, as markdown. */
export function createTextExtractor(limits: Partial<ChildPoolLimits> = {}): DocumentExtractor {
  const pool = new ChildPool(new URL('./extraction-process.ts', import.meta.url), { ...defaults, ...limits });
  const extractOnce = (source: DocumentSource, signal: AbortSignal) =>
    pool.run(source.tenantId, async () => taskOf(await source.read()), signal);
  return {
    async extract(source, signal) {
      // A process that others killed says nothing about the document: another one tries it.
      const result = await onceMore(
        () => extractOnce(source, signal),
        (error) => error instanceof ChildLost && !error.crashed,
      ).catch((error: unknown) => {
        throw toFailure(error);
      });
      if (result instanceof ExtractionFailure) {
        throw result;
      }
      return result;
    },
  };
}

type Task = ChildTask<ExtractionMessage, ExtractedDocument | ExtractionFailure>;

function taskOf({ mediaType, content }: DocumentContent): Task {
  const parts: string[] = [];
  const sections: Section[] = [];
  const chunks: Chunk[] = [];
  let text: string | null = null;
  const whole = () => (text ??= parts.join(''));
  const receive = (message: ExtractionMessage): ReturnType<Task['receive']> => {
    switch (message.kind) {
      case 'parts':
        return message.parts.reduce<ReturnType<typeof receive>>((_, part) => receive(part), null);
      case 'text':
        parts.push(message.text);
        return null;
      case 'sections':
        sections.push(...message.sections);
        return null;
      case 'chunks':
        for (const range of message.chunks) {
          chunks.push({ ...range, text: whole().slice(range.start, range.end) });
        }
        return null;
      case 'done':
        return {
          result: { mediaType: message.mediaType, text: whole(), sections, chunks },
          isSpent: message.isSpent,
        };
      case 'failed':
        return { result: new ExtractionFailure(message.code), isSpent: message.isSpent };
      default:
        return assertNever(message);
    }
  };
  const isSmall = content.byteLength <= maxInlineBytes;
  return {
    request: { mediaType, byteLength: content.byteLength, content: isSmall ? content : null },
    bytes: isSmall ? new Uint8Array() : content,
    receive,
  };
}

function toFailure(error: unknown): unknown {
  if (error instanceof TooBusy) {
    return new ExtractorBusy();
  }
  if (error instanceof ChildLost) {
    return new ExtractionFailure('extraction_failed');
  }
  return error instanceof ChildLimitExceeded
    ? new ExtractionFailure(error.limit === 'time' ? 'too_slow' : 'too_large')
    : error;
}
