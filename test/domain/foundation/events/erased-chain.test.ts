import { expect, it } from 'vitest';
import type { Anchor } from '#domain/foundation/events/anchor.ts';
import { verifyChain, type Ask, type ErasedChain } from '#domain/foundation/events/verify-chain.ts';

const tenantId = '0192b0a0-0000-7000-8000-000000000001';
const anchor = (seq: number, count: number, head: string): Anchor => ({
  at: '2026-11-25T10:00:00.000Z',
  tenant_id: tenantId,
  seq,
  event_count: count,
  head,
  checkpoint_seq: 0,
  retention_days: 365,
});
/** A database in which nothing of the tenant is left. */
const ask = (async (text: string) => (text.includes('count(*)') ? [{ n: 0 }] : [])) as Ask;
const findingsOf = async (anchors: Anchor[], erased: ErasedChain | null) =>
  (await verifyChain(ask, tenantId, { anchors, retentionDays: 365, erased })).findings.map(
    ({ kind }) => kind,
  );

const anchors = [anchor(0, 0, ''), anchor(1, 5, 'aa'), anchor(2, 9, 'bb')];

it('a missing chain with anchors is a difference, unless a certificate says where it ended', async () => {
  expect(await findingsOf(anchors, null)).toEqual(['anchor_differs', 'anchor_differs']);
  expect(await findingsOf(anchors, { eventCount: 9, lastHash: 'bb' })).toEqual([]);
  expect(await findingsOf(anchors, { eventCount: 12, lastHash: 'cc' })).toEqual([]);
});

it('a certificate explains neither another end nor events that were anchored behind it', async () => {
  expect(await findingsOf(anchors, { eventCount: 9, lastHash: 'cc' })).toEqual(['anchor_differs']);
  expect(await findingsOf(anchors, { eventCount: 5, lastHash: 'aa' })).toEqual(['anchor_differs']);
});
