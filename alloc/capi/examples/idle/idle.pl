$| = 1;
my %data;
$data{"key $_"} = "v$_" x 40 for 1 .. 300_000;
my @keep = map { $data{ "key " . $_ * 300 } } 1 .. 1000;
undef %data;
print "ready ", scalar(@keep), "\n";
sleep 1000;
