/** Number formats whose arithmetic rates are listed apart. */
export type ArithmeticFormat = 'f32' | 'f16' | 'int8';

/** Peak numbers of a device that others may have, for what-ifs. This device's own numbers come from the probe. */
export interface DeviceSpec {
  /** Stable name for URLs and settings. */
  id: string;
  name: string;
  kind: 'phone' | 'laptop' | 'desktop' | 'datacenter';
  /** Memory that a model can use, GB (10^9 bytes): the card's own, or the largest unified memory that it is sold with. */
  memoryGB: number;
  memoryGBps: number;
  /**
   * Dense peaks, TFLOP/s (INT8: TOP/s), of the fastest unit for that format with f32 accumulation: matrix units where the device has them, which
   * WebGPU does not reach. Absent where the vendor publishes none.
   */
  tflops: Partial<Record<ArithmeticFormat, number>>;
  /** Link to other cards of its kind, GB/s, both directions together; absent where there is none. */
  linkGBps?: number;
  /** `published`: the vendor says it; `derived`: from the vendor's clocks, units and bus width. */
  basis: 'published' | 'derived';
  /** Where the numbers are from. */
  source: string;
}

const nvidia = (page: string): string => `NVIDIA, ${page}`;
const apple = (what: string): string => `Apple newsroom, ${what}`;

/** From phones to data centers; decode at batch 1 is decided by `memoryGBps`. */
export const DEVICES: readonly DeviceSpec[] = [
  {
    id: 'snapdragon-8-gen-2',
    name: 'Snapdragon 8 Gen 2 phone',
    kind: 'phone',
    memoryGB: 16,
    memoryGBps: 67.2,
    tflops: {},
    basis: 'derived',
    source: 'Qualcomm product brief: LPDDR5X at 4200 MHz, 4 x 16 bit; the rate of the GPU is not published',
  },
  {
    id: 'snapdragon-8-gen-3',
    name: 'Snapdragon 8 Gen 3 phone',
    kind: 'phone',
    memoryGB: 24,
    memoryGBps: 76.8,
    tflops: {},
    basis: 'derived',
    source: 'Qualcomm product brief: LPDDR5X at 4800 MHz, 4 x 16 bit; the rate of the GPU is not published',
  },
  {
    id: 'snapdragon-8-elite',
    name: 'Snapdragon 8 Elite phone',
    kind: 'phone',
    memoryGB: 24,
    memoryGBps: 84.8,
    tflops: {},
    basis: 'derived',
    source: 'Qualcomm product brief: LPDDR5X at 5300 MHz, 4 x 16 bit; the rate of the GPU is not published',
  },
  {
    id: 'iphone-15-pro',
    name: 'iPhone 15 Pro (A17 Pro)',
    kind: 'phone',
    memoryGB: 8,
    memoryGBps: 51.2,
    tflops: {},
    basis: 'derived',
    source: 'LPDDR5-6400, 64 bit; Apple publishes neither bandwidth nor the rate of the GPU',
  },
  {
    id: 'intel-iris-xe',
    name: 'Laptop, Intel Iris Xe (Core i7-1165G7)',
    kind: 'laptop',
    memoryGB: 32,
    memoryGBps: 68.3,
    tflops: { f32: 2.0, f16: 4.0 },
    basis: 'derived',
    source: 'Intel ARK: LPDDR4x-4267, 128 bit; 96 EU x 16 FLOP x 1.3 GHz, f16 at twice the rate',
  },
  {
    id: 'intel-arc-155h',
    name: 'Laptop, Intel Arc (Core Ultra 7 155H)',
    kind: 'laptop',
    memoryGB: 96,
    memoryGBps: 119.5,
    tflops: { f32: 4.6, f16: 9.2 },
    basis: 'derived',
    source: 'Intel ARK: LPDDR5x-7467, 128 bit; 8 Xe-cores x 128 lanes x 2 FLOP x 2.25 GHz, f16 at twice the rate',
  },
  {
    id: 'radeon-780m',
    name: 'Laptop, AMD Radeon 780M (Ryzen 7 7840U)',
    kind: 'laptop',
    memoryGB: 64,
    memoryGBps: 120,
    tflops: { f32: 8.3, f16: 16.6 },
    basis: 'derived',
    source:
      'AMD product page: LPDDR5x-7500, 128 bit; 12 CU x 64 lanes x 4 FLOP (dual issue) x 2.7 GHz, f16 at twice the rate',
  },
  {
    id: 'apple-m1',
    name: 'Apple M1',
    kind: 'laptop',
    memoryGB: 16,
    memoryGBps: 68.3,
    tflops: { f32: 2.6 },
    basis: 'published',
    source: `${apple('"Apple unleashes M1", 2020')} (2.6 teraflops); bandwidth of LPDDR4X-4266, 128 bit`,
  },
  {
    id: 'apple-m2',
    name: 'Apple M2',
    kind: 'laptop',
    memoryGB: 24,
    memoryGBps: 100,
    tflops: { f32: 3.6 },
    basis: 'published',
    source: apple('"Apple unveils M2", 2022'),
  },
  {
    id: 'apple-m4',
    name: 'Apple M4',
    kind: 'laptop',
    memoryGB: 32,
    memoryGBps: 120,
    tflops: {},
    basis: 'published',
    source: `${apple('"Apple introduces M4 chip", 2024')}; the rate of the GPU is not published`,
  },
  {
    id: 'apple-m1-max',
    name: 'Apple M1 Max',
    kind: 'laptop',
    memoryGB: 64,
    memoryGBps: 400,
    tflops: { f32: 10.4 },
    basis: 'published',
    source: apple('"Introducing M1 Pro and M1 Max", 2021'),
  },
  {
    id: 'apple-m4-pro',
    name: 'Apple M4 Pro',
    kind: 'laptop',
    memoryGB: 64,
    memoryGBps: 273,
    tflops: {},
    basis: 'published',
    source: `${apple('"Apple introduces M4 Pro and M4 Max", 2024')}; the rate of the GPU is not published`,
  },
  {
    id: 'apple-m4-max',
    name: 'Apple M4 Max (40-core GPU)',
    kind: 'laptop',
    memoryGB: 128,
    memoryGBps: 546,
    tflops: {},
    basis: 'published',
    source: `${apple('"Apple introduces M4 Pro and M4 Max", 2024')}; the rate of the GPU is not published`,
  },
  {
    id: 'rtx-3090',
    name: 'NVIDIA RTX 3090',
    kind: 'desktop',
    memoryGB: 24,
    memoryGBps: 936,
    tflops: { f32: 35.6, f16: 71, int8: 284 },
    basis: 'published',
    source: nvidia('"Ampere GA102 GPU architecture" (f16 tensor with f32 accumulation, dense)'),
  },
  {
    id: 'rtx-4090',
    name: 'NVIDIA RTX 4090',
    kind: 'desktop',
    memoryGB: 24,
    memoryGBps: 1008,
    tflops: { f32: 82.6, f16: 165.2, int8: 660.6 },
    basis: 'published',
    source: nvidia(
      '"Ada GPU architecture" (f16 tensor with f32 accumulation, dense; 330.3 with f16 accumulation or sparsity)',
    ),
  },
  {
    id: 'rtx-5090',
    name: 'NVIDIA RTX 5090',
    kind: 'desktop',
    memoryGB: 32,
    memoryGBps: 1792,
    tflops: { f32: 104.8, f16: 209.5, int8: 838 },
    basis: 'published',
    source: nvidia('"RTX Blackwell GPU architecture" (f16 tensor with f32 accumulation, dense)'),
  },
  {
    id: 'l4',
    name: 'NVIDIA L4',
    kind: 'datacenter',
    memoryGB: 24,
    memoryGBps: 300,
    tflops: { f32: 30.3, f16: 121, int8: 242 },
    basis: 'published',
    source: nvidia('L4 data sheet (half of the rates with sparsity)'),
  },
  {
    id: 'a100-80g',
    name: 'NVIDIA A100 80 GB SXM',
    kind: 'datacenter',
    memoryGB: 80,
    memoryGBps: 2039,
    tflops: { f32: 19.5, f16: 312, int8: 624 },
    linkGBps: 600,
    basis: 'published',
    source: nvidia('A100 data sheet'),
  },
  {
    id: 'h100',
    name: 'NVIDIA H100 80 GB SXM',
    kind: 'datacenter',
    memoryGB: 80,
    memoryGBps: 3350,
    tflops: { f32: 67, f16: 989, int8: 1979 },
    linkGBps: 900,
    basis: 'published',
    source: nvidia('H100 data sheet (half of the rates with sparsity)'),
  },
  {
    id: 'h200',
    name: 'NVIDIA H200 141 GB SXM',
    kind: 'datacenter',
    memoryGB: 141,
    memoryGBps: 4800,
    tflops: { f32: 67, f16: 989, int8: 1979 },
    linkGBps: 900,
    basis: 'published',
    source: nvidia('H200 data sheet (half of the rates with sparsity)'),
  },
];

/** By its `id`; nothing for an unknown one. */
export const findDevice = (id: string): DeviceSpec | undefined => DEVICES.find((device) => device.id === id);
