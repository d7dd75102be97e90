import { defineEntity } from '@mikro-orm/core';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { Governance, ResponseRequest } from './response-request.ts';
import {
  canBecome,
  type FailureReason,
  type IncompleteReason,
  type ResponseStatus,
  type TerminalStatus,
} from './response-status.ts';

const schema = defineEntity({
  name: 'Response',
  tableName: 'responses',
  // The ORM only reads heads: a flush never writes one. `insert-head.ts` and `response-change.ts` do.
  readonly: true,
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.text().primary(),
    spaceId: p.uuid(),
    principalId: p.uuid(),
    apiKeyId: p.uuid().nullable(),
    status: p.text().$type<ResponseStatus>().default('queued'),
    writerEpoch: p.integer().default(0),
    nextN: p.integer().default(0),
    nextOutputIndex: p.integer().default(0),
    iterationCount: p.integer().default(0),
    toolCallCount: p.integer().default(0),
    attempts: p.integer().default(0),
    modelId: p.uuid(),
    model: p.text(),
    modelAlias: p.text(),
    previousResponseId: p.text().nullable(),
    chainDepth: p.integer().default(0),
    blockedBy: p.text().nullable().fieldName('waits_for'),
    contextFrom: p.text().nullable(),
    historyDue: p.boolean().default(false),
    threadId: p.uuid().nullable(),
    branchId: p.uuid().nullable(),
    request: p.json<ResponseRequest>(),
    fingerprint: p.text(),
    governance: p.json<Governance>(),
    metadata: p.json<Record<string, string>>().nullable(),
    failure: p.json<FailureReason>().nullable(),
    incompleteReason: p.text().$type<IncompleteReason>().nullable(),
    cancelledBy: p.uuid().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    queuedSince: p.datetime().defaultRaw('now()'),
    startedAt: p.datetime().nullable(),
    deadlineAt: p.datetime().nullable(),
    finishedAt: p.datetime().nullable(),
    expiresAt: p.datetime(),
    deletedAt: p.datetime().nullable(),
    record: p.text().lazy().nullable(),
  }),
});

/** How long the content of an unstored response outlives its end: for readers that lost their connection. */
const unstoredMs = 600_000;

/** The head row: state, fence (`writerEpoch`) and sequence (`nextN`) of one response. */
export class Response extends schema.class {
  get workflowId(): string {
    return workflowIdOf('generateResponse', { tenantId: this.tenantId, responseId: this.id });
  }

  /** False for a response that is blocked, or that ended while it was: it has no context to continue from. */
  get hasWholeContext(): boolean {
    return this.blockedBy == null && !this.historyDue;
  }

  get isTerminal(): boolean {
    return this.finishedAt !== null && this.finishedAt !== undefined;
  }

  /** The caller wants its content stored only until the answer was fetched. */
  get isUnstored(): boolean {
    return this.request.store === false;
  }

  /** A new writer claims the model lane; every earlier one is fenced. */
  bumpEpoch(): number {
    this.writerEpoch += 1;
    return this.writerEpoch;
  }

  begin(now: Date): void {
    this.become('in_progress');
    this.startedAt = now;
    this.deadlineAt = new Date(now.getTime() + this.governance.limits.timeout_seconds * 1000);
  }

  finish(status: TerminalStatus, now: Date): void {
    this.become(status);
    this.finishedAt = now;
    if (this.isUnstored) {
      this.expiresAt = new Date(Math.min(this.expiresAt.getTime(), now.getTime() + unstoredMs));
    }
  }

  private become(status: ResponseStatus): void {
    if (!canBecome(this.status, status)) {
      throw new Error(`A ${this.status} response cannot become ${status}.`);
    }
    this.status = status;
  }
}
schema.setClass(Response);
