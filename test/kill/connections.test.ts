import { testConnections } from './connections/form.ts';
import { shortConnections } from './connections/plan.ts';
import { seedFrom } from './plan.ts';

testConnections('short', { form: shortConnections, seed: seedFrom(process.env), timeoutMs: 300_000 });
