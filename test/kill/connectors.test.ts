import { testConnectors } from './connector-form.ts';
import { shortConnectors } from './connector-plan.ts';
import { seedFrom } from './plan.ts';

testConnectors('short', { form: shortConnectors, seed: seedFrom(process.env), timeoutMs: 300_000 });
