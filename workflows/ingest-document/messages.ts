import { defineSignal } from '@temporalio/workflow';
import type { Delivered } from '#domain/foundation/durable/messages.ts';

export type { IngestDocumentInput } from '#domain/foundation/durable/workflow-inputs.ts';

/** Somebody retried the document after it had failed. */
export const retriedSignal = defineSignal<Delivered<[]>>('retried');

export interface IngestDocumentEnd {
  status: IngestDocumentResult['status'];
  reason: string | null;
  chunkCount: number;
}

export interface IngestDocumentResult {
  /** `gone`: deleted before it was read. */
  status: 'processing' | 'ready' | 'failed' | 'gone';
  chunkCount: number;
  failureCode: string | null;
}

export interface EmbedDocumentResult {
  /** `more`: its time was up; `unavailable`: the model does not answer now. */
  state: 'done' | 'more' | 'unavailable';
}
