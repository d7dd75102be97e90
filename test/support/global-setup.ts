import type { TestProject } from 'vitest/node';
import { progress } from './progress.ts';
import { openRunLogs } from './run-logs.ts';
import { startTestServers } from './test-servers.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const logs = openRunLogs(`${project.config.root}/.test-logs`);
  try {
    const servers = await startTestServers({ log: (server, line) => logs.write(server, line), progress });
    project.provide('postgres', servers.postgres);
    project.provide('temporal', servers.temporal);
    project.provide('workflowBundle', servers.workflowBundle);
    project.provide('logFolder', logs.folder);
    return async () => {
      await servers.stop();
      logs.finish(hasFailed(project));
    };
  } catch (error) {
    logs.finish(true);
    throw error;
  }
}

function hasFailed({ vitest: { state } }: TestProject): boolean {
  const failed = state.getCountOfFailedTests() + state.getFailedFilepaths().length;
  return failed + state.getUnhandledErrors().length > 0;
}
