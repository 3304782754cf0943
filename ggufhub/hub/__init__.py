"""What the service stores: inspections, their reports and the uploads behind them."""
