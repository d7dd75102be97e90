import { mulberry32 } from '../support/model-script.ts';
import { testConnectors } from './connector-form.ts';
import { longConnectors } from './connector-plan.ts';
import { seedFrom } from './plan.ts';

const seed = seedFrom(process.env);
testConnectors('long', { form: longConnectors(mulberry32(seed)), seed, timeoutMs: 2_400_000 });
