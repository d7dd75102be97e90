import { seedFrom } from '../kill/plan.ts';
import { describeRounds } from './describe-rounds.ts';
import { folderServers } from './folder-servers.ts';

const rounds = Number(process.env['ROUNDS'] ?? 200);
describeRounds(folderServers, { rounds, seed: seedFrom(process.env), timeoutMs: rounds * 30_000 });
