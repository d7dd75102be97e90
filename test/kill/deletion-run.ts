import { setTimeout as sleep } from 'node:timers/promises';
import { publicKeyText } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { verifyCertificate } from '#domain/operations/erasure-proof/verify-certificate.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import type { Stack, StackProcess } from '../support/stack.ts';
import { secrets } from '../support/world.ts';

export type Victim = 'worker' | 'gateway' | 'postgres' | 'temporal';

/** The processes of one run, and the tenants in it. */
export interface DeletionField {
  stack: Stack;
  /** Servers of this run's own; null where they are shared and stay up. */
  servers: Record<'postgres' | 'temporal', () => Promise<unknown>> | null;
  operatorKey: string;
  /** To be deleted. */
  leaving: readonly string[];
  /** Whose deletion is cancelled in its grace time. */
  staying: readonly string[];
  random: () => number;
}

export interface DeletionVerdict {
  /** `<tenant> <reason>` for each deletion that did not end with a certificate that verifies. */
  uncertified: string[];
  /** Tenants whose cancelled deletion did not restore them. */
  unrestored: string[];
  kills: number;
}

const alive = (processes: readonly StackProcess[]): StackProcess[] =>
  processes.filter(({ child }) => child.exitCode === null && child.signalCode === null);

/** Deletes all tenants at once and kills one process after the other meanwhile. */
export async function runDeletions(
  field: DeletionField,
  { victims, pauseMs, endMs }: { victims: readonly Victim[]; pauseMs: number; endMs: number },
): Promise<DeletionVerdict> {
  const { leaving, staying, random } = field;
  await Promise.all([
    ...leaving.map((id) => until(field, 'DELETE', `/${id}?reason_code=test_cleanup&grace_seconds=0`, 202)),
    ...staying.map((id) => until(field, 'DELETE', `/${id}?reason_code=test_cleanup&grace_seconds=3600`, 202)),
  ]);
  let kills = 0;
  for (const [n, victim] of victims.entries()) {
    await sleep(random() * pauseMs);
    await strike(field, victim);
    kills += 1;
    if (n === Math.floor(victims.length / 2)) {
      await Promise.all(staying.map((id) => until(field, 'POST', `/${id}/deletion/cancel`, 200)));
    }
  }
  const endsAt = performance.now() + endMs;
  const uncertified: string[] = [];
  for (const id of leaving) {
    const reason = await certifiedBy(field, id, endsAt);
    if (reason !== null) uncertified.push(`${id} ${reason}`);
  }
  const unrestored: string[] = [];
  for (const id of staying) {
    const { body } = await until(field, 'GET', `/${id}`, 200);
    if (body.data.status !== 'active') unrestored.push(id);
  }
  return { uncertified, unrestored, kills };
}

/** Kills a process, and starts another in its place. */
async function strike({ stack, servers, random }: DeletionField, victim: Victim): Promise<void> {
  if (victim === 'postgres' || victim === 'temporal') {
    await servers?.[victim]();
    return;
  }
  const running = alive(victim === 'worker' ? stack.workers : stack.gateways);
  const chosen = running[Math.floor(random() * running.length)];
  await chosen?.kill();
  await stack.launch(victim);
}

/** Repeats a request until a gateway answers it. */
async function until(
  { stack, operatorKey }: DeletionField,
  method: string,
  path: string,
  wanted: number,
): Promise<Answer> {
  for (let tries = 0; ; tries += 1) {
    for (const gateway of alive(stack.gateways).toReversed()) {
      const request = { method, path: `/v1/admin/tenants${path}`, apiKey: operatorKey };
      const answer = await sendOver(() => gateway)
        .send(request)
        .catch(() => null);
      if (answer?.status === wanted) return answer;
      if (answer !== null && answer.status < 500) throw new Error(`${method} ${path}: ${answer.text}`);
    }
    if (tries === 600) throw new Error(`${method} ${path} was not answered.`);
    await sleep(100);
  }
}

/** @returns why there is no valid certificate; null: there is one */
async function certifiedBy(field: DeletionField, id: string, endsAt: number): Promise<string | null> {
  for (;;) {
    const { body } = await until(field, 'GET', `/${id}/deletion`, 200);
    const { status, certificate, progress, failure } = body.data;
    if (status === 'deleted') {
      const check = verifyCertificate(JSON.stringify(certificate), publicKeyText(secrets.certificateKey()));
      return check.valid ? null : check.reason;
    }
    if (performance.now() > endsAt) return `${progress.step} ${failure?.reason ?? ''}`;
    await sleep(200);
  }
}

/** Without the rows that upkeep writes of a tenant that nobody uses: seals and counts of its log, keys, fan-outs. */
export function ofPeople(rows: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(rows).filter(([table]) => !/^(event_|data_keys|fan_outs|outbox)/.test(table)),
  );
}
