import { seedFrom } from '../kill/plan.ts';
import { describeRounds } from './describe-rounds.ts';
import { folderServers } from './folder-servers.ts';

describeRounds(folderServers, { rounds: 8, seed: seedFrom(process.env), timeoutMs: 120_000 });
