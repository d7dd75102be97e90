import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  ContinueAsNew,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { DeletionStep } from '#domain/operations/tenant-deletion/deletion-status.ts';
import { deletionReport, deletionSlice, deletionStep } from '../shared/activity-options.ts';
import {
  cancelSignal,
  runNowSignal,
  stepQuery,
  type DeleteTenantInput,
  type DeleteTenantResult,
  type EraseResult,
  type VerifyResult,
} from './messages.ts';

const steps = proxyActivities<Activities>(deletionStep);
const slices = proxyActivities<Activities>(deletionSlice);
const reports = proxyActivities<Activities>(deletionReport);

/** Timers of a workflow have a limit; a longer wait is planned once more. */
const maxWaitMs = 86_400_000;
/** Rounds in which workflows may end by their own code. */
const patientRounds = 8;
/** Rounds and passes after which the operators are notified; then it goes on. */
const maxRounds = 60;
const maxPasses = 5;
/** A step that cannot be done is tried again after this time, or at a signal. */
const faultPause = '5 minutes';

/** The deletion of a tenant. Its row says what is next, so a lost workflow goes on where the row is. */
export async function deleteTenant(input: DeleteTenantInput): Promise<DeleteTenantResult> {
  let isWoken = false;
  let step: DeletionStep = 'scheduled';
  const wake = () => {
    isWoken = true;
  };
  setHandler(cancelSignal, wake);
  setHandler(runNowSignal, wake);
  setHandler(stepQuery, () => step);

  /** Does one step until it succeeds; a failure is shown to the operators, and mended meanwhile. */
  const untilDone = async <T>(name: DeletionStep, work: () => Promise<T>): Promise<T> => {
    step = name;
    for (;;) {
      setCurrentDetails(describe(name));
      try {
        return await work();
      } catch (error) {
        if (isCancellation(error) || error instanceof ContinueAsNew) {
          throw error;
        }
        const reason = reasonOf(error);
        setCurrentDetails(`${describe(name)}: it cannot go on (${reason}).`);
        // Before the report: an operator may answer it at once.
        isWoken = false;
        await reports.reportDeletionFailure.executeWithOptions({ summary: `${name}: ${reason}` }, [
          { ...input, step: name, reason },
        ]);
        await condition(() => isWoken, faultPause);
      }
    }
  };

  await untilDone('scheduled', () =>
    steps.haltTenant.executeWithOptions({ summary: 'cancel responses' }, [input]),
  );
  for (;;) {
    isWoken = false;
    const stage = await untilDone('scheduled', () =>
      steps.nextDeletionStage.executeWithOptions({ summary: 'what is next' }, [input]),
    );
    if (stage.is === 'ended' && stage.next !== undefined) {
      await continueAsNew<typeof deleteTenant>({ ...input, deletionId: stage.next });
    }
    if (stage.is === 'ended') {
      setCurrentDetails(`The deletion is ${stage.status}.`);
      return { status: stage.status };
    }
    if (stage.is === 'deleting') {
      break;
    }
    setCurrentDetails(`The erasure is looked at again in ${Math.ceil(stage.waitMs / 60_000)} minutes.`);
    await condition(() => isWoken, Math.min(stage.waitMs + 100, maxWaitMs));
  }

  await untilDone('stopping', () => stopWork(input));
  await untilDone('revoking', () =>
    slices.revokeExternal.executeWithOptions({ summary: 'withdraw at other systems' }, [input]),
  );
  await untilDone('counting', () => slices.takeStock.executeWithOptions({ summary: 'count' }, [input]));
  await untilDone('verifying', () => eraseUntilClean(input, untilDone));
  await untilDone('certifying', () =>
    steps.certifyDeletion.executeWithOptions({ summary: 'sign the certificate' }, [input]),
  );
  setCurrentDetails('Nothing is left of the tenant; its certificate is signed.');
  return { status: 'deleted' };
}

async function stopWork(input: DeleteTenantInput): Promise<void> {
  for (let round = 1; round <= maxRounds; round += 1) {
    const { open, pending } = await slices.stopTenantWork.executeWithOptions({ summary: `round ${round}` }, [
      { ...input, force: round > patientRounds },
    ]);
    setCurrentDetails(`Stopping: ${open} workflows run, ${pending} messages are on their way.`);
    if (open === 0 && pending === 0) {
      return;
    }
    await sleep(Math.min(250 * round, 5_000));
  }
  throw ApplicationFailure.create({
    type: 'work_not_stopped',
    message: 'work_not_stopped',
    nonRetryable: true,
  });
}

type UntilDone = <T>(name: DeletionStep, work: () => Promise<T>) => Promise<T>;

/** Keys first: what was sealed is gone at once. What the verification finds is erased in one more pass. */
async function eraseUntilClean(input: DeleteTenantInput, untilDone: UntilDone): Promise<void> {
  for (let pass = 1; pass <= maxPasses; pass += 1) {
    await untilDone('destroying_key', () =>
      steps.destroyTenantKeys.executeWithOptions({ summary: 'destroy the keys' }, [input]),
    );
    await untilDone('erasing', () => eraseTables(input));
    await untilDone('deleting_histories', () =>
      slices.deleteHistories.executeWithOptions({ summary: 'histories' }, [input]),
    );
    const { clean, left }: VerifyResult = await untilDone('verifying', () =>
      slices.verifyDeletion.executeWithOptions({ summary: `verification ${pass}` }, [input]),
    );
    if (clean) {
      return;
    }
    setCurrentDetails(`The verification found something in ${left.join(', ')}.`);
  }
  throw ApplicationFailure.create({ type: 'not_clean', message: 'not_clean', nonRetryable: true });
}

async function eraseTables(input: DeleteTenantInput): Promise<void> {
  let from: EraseResult['next'] = null;
  let rows = 0;
  do {
    const slice: EraseResult = await slices.eraseTenantRows.executeWithOptions(
      { summary: from === null ? 'tables' : from.step },
      [{ ...input, from }],
    );
    rows += slice.rows;
    from = slice.next;
    setCurrentDetails(`Erasing: ${rows} rows in this pass${from === null ? '' : `, now ${from.step}`}.`);
    // The row says where it is: the next run finds what is erased already.
    if (from !== null && workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof deleteTenant>(input);
    }
  } while (from !== null);
}

const texts: Partial<Record<DeletionStep, string>> = {
  scheduled: 'The tenant is to be deleted',
  stopping: 'Stopping the work of the tenant',
  revoking: 'Withdrawing what other systems hold',
  counting: 'Counting what there is',
  destroying_key: 'Destroying the keys',
  erasing: 'Erasing rows',
  deleting_histories: 'Deleting histories of workflows',
  verifying: 'Verifying that nothing is left',
  certifying: 'Signing the certificate',
};

function describe(step: DeletionStep): string {
  return texts[step] ?? step;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    return cause.type ?? 'unknown';
  }
  return cause instanceof TimeoutFailure ? 'timeout' : 'unknown';
}
