import { setTimeout as sleep } from 'node:timers/promises';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { Answer } from '../../support/gateway.ts';
import { Popup } from '../../support/popup.ts';
import type { StackProcess } from '../../support/stack.ts';
import { over, publicUrl, type ConnectionDeployment } from './deployment.ts';

export interface Member {
  principalId: string;
  apiKey: string;
  /** At the authorization server. */
  account: string;
}

/** What became of a call of `whoami`. */
export interface CallEnd {
  account: string;
  /** The account that the tool server has seen, or the error's code. */
  output: string;
  /** Milliseconds of `performance.now()`. */
  startedAt: number;
  at: number;
}

/** A connection that its client knows to be made. */
export interface MadeConnection {
  account: string;
  at: number;
}

const done = `${publicUrl}/api/v1/mcp-auth/done`;
const patienceMs = 150_000;

/** A client of one member, which repeats what a killed gateway did not answer. */
export class Person {
  readonly member: Member;
  readonly #deployment: ConnectionDeployment;
  readonly #gateway: () => StackProcess;
  /** Responses that did not end in time. */
  readonly stuck: string[] = [];

  constructor(member: Member, deployment: ConnectionDeployment, gateway: () => StackProcess) {
    this.member = member;
    this.#deployment = deployment;
    this.#gateway = gateway;
  }

  /** null where no answer came, or an answer that an outage explains. */
  async send(method: string, path: string, body?: object): Promise<Answer | null> {
    try {
      const { apiKey } = this.member;
      const answer = await over(this.#gateway().url).send({ method, path, apiKey, ...(body && { body }) });
      return answer.status >= 500 ? null : answer;
    } catch {
      return null;
    }
  }

  /** One try at a connection. @returns whether it was made */
  async connect(serverId: string, account = this.member.account): Promise<boolean> {
    const { authorization } = this.#deployment;
    const path = `/v1/mcp-auth/${serverId}/initiate?redirect_uri=${encodeURIComponent(done)}`;
    const begun = await this.send('POST', path);
    if (begun?.status !== 200) return false;
    try {
      const popup = new Popup({ send: (call) => over(this.#gateway().url).send(call) });
      const address = await popup.decide(begun.body.data.popup_url, 'continue');
      const back = await popup.open(await authorization.authorize(address.href, { account }));
      const handle = new URL(back.headers['location'] ?? '').searchParams.get('handle');
      const completed = await this.send('POST', '/v1/mcp-auth/complete', { handle });
      return completed?.status === 200;
    } catch {
      return false;
    }
  }

  /** A response that calls the tool; null where none was created. */
  async call(model: 'personal' | 'shared', account = this.member.account): Promise<CallEnd | null> {
    const startedAt = performance.now();
    const path = `/v1/spaces/${this.#deployment.world.spaceId}/responses`;
    const made = await this.send('POST', path, { model, input: { text: 'Do it.' } });
    if (made === null || made.status >= 300) return null;
    const { id } = made.body.data as ResponseRecord;
    for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(150)) {
      const record = (await this.send('GET', `${path}/${id}`))?.body?.data as ResponseRecord | undefined;
      if (record !== undefined && !['queued', 'in_progress'].includes(record.status)) {
        return { account, output: outputOf(record), startedAt, at: performance.now() };
      }
    }
    this.stuck.push(id);
    return null;
  }
}

function outputOf({ status, output }: ResponseRecord): string {
  const call = output[0] as { output?: string; error?: { code: string } | null } | undefined;
  return call?.error?.code ?? call?.output ?? `no call: ${status}`;
}
