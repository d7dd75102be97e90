import { endWithParent } from '#adapters/process/end-with-parent.ts';

/** Uses all of the processor that it is given. */
endWithParent();
for (let count = 0; ; count += 1) Math.sqrt(count);
