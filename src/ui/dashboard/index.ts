/** The dashboard and its parts, apart from the chat: a page that only talks need not fetch them. Importing this registers them. */
export { TgContextChart, type ContextFloor } from '../context-chart/context-chart.ts';
export { TgDashboard } from './dashboard.ts';
export { measureDevice } from './measure-device.ts';
export { TgDataTable, type DataTable } from '../data-table/data-table.ts';
export { TgItlChart } from '../itl-chart/itl-chart.ts';
export { compareWords, type LaneFigures } from '../lane/compare-words.ts';
export { TgLane } from '../lane/lane.ts';
export { TgMemory, type MemoryUse } from '../memory/memory.ts';
export { TgRoofline } from '../roofline/roofline-chart.ts';
export { TgStats, type Stats } from '../stats/stats.ts';
export { TgSteps } from '../steps/steps.ts';
export { TgVerdict } from '../verdict/verdict.ts';
export { TgWhatIf, type Measured, type WhatIfSubject } from '../what-if/what-if.ts';
