import {
  vAdd32,
  vAddF32,
  vAnd,
  vConst32,
  vConstF32,
  vGreaterF32,
  vMaxF32,
  vMinF32,
  vMulF32,
  vNearest,
  vShl32,
  vSubF32,
  vToInt,
} from '../emit/expressions.ts';
import type { FunctionReference, ModuleWriter } from '../emit/module.ts';

/** Below it e^x is taken for 0. */
const LEAST = -87.3;
const MOST = 88.3;

/** Coefficients of (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, highest power first (Cephes `expf`); the error is 2 units in the last place. */
const COEFFICIENTS = [1.98756915e-4, 1.39819995e-3, 8.33345175e-3, 4.16657962e-2, 1.66666657e-1, 0.5];

/** Adds e^x of four f32. */
export function addExponential(module: ModuleWriter): FunctionReference {
  return module.add(
    ['v128'],
    (f, given) => {
      const x = f.local('v128', vMaxF32(vMinF32(given, vConstF32(MOST)), vConstF32(LEAST)));
      const n = f.local('v128', vNearest(vMulF32(x, vConstF32(Math.LOG2E))));
      // ln(2) in two parts, of which the first has few bits, so that n times it is exact.
      const r = f.local(
        'v128',
        vSubF32(vSubF32(x, vMulF32(n, vConstF32(0.693359375))), vMulF32(n, vConstF32(-2.1219444e-4))),
      );
      const y = f.local('v128', vConstF32(COEFFICIENTS[0]!));
      for (const coefficient of COEFFICIENTS.slice(1)) f.set(y, vAddF32(vMulF32(y, r), vConstF32(coefficient)));
      f.set(y, vAddF32(vAddF32(vMulF32(y, vMulF32(r, r)), r), vConstF32(1)));
      const power = vShl32(vAdd32(vToInt(n), vConst32(127)), 23);
      f.return(vAnd(vMulF32(y, power), notBelow(given)));
    },
    { result: 'v128' },
  );
}

/** All bits set where x is no less than the least (or no number at all, which stays one). */
const notBelow = (x: Parameters<typeof vGreaterF32>[0]) => ({
  type: 'v128' as const,
  code: [...vGreaterF32(vConstF32(LEAST), x).code, 0xfd, 0x4d],
});
