/** A number as people write it: files hold it with the noise of floating point. */
export const plainNumber = (number: number): string => String(Number(number.toPrecision(15)));
