import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { sealing } from '../shared/activity-options.ts';

const { sealEvents: seal } = proxyActivities<Activities>(sealing);

/** Brings the sealed part of every log up to its end, started every few seconds by its schedule. */
export async function sealEvents(): Promise<void> {
  const { sealed, failed } = await seal();
  setCurrentDetails(`sealed ${sealed} events, failed tenants ${failed}`);
}
