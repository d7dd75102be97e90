import { mulberry32 } from '../support/model-script.ts';
import { testConnections } from './connections/form.ts';
import { longConnections } from './connections/plan.ts';
import { seedFrom } from './plan.ts';

const seed = seedFrom(process.env);
testConnections('long', { form: longConnections(mulberry32(seed)), seed, timeoutMs: 2_400_000 });
