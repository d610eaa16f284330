import 'tokenglass/ui';
